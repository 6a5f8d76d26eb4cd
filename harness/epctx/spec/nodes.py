"""What the EPContext nodes of a model ask for: which external data each one names, and which nodes are malformed."""

from __future__ import annotations

from dataclasses import dataclass

from epctx.case import Attribute, Name, Node, raw, shown

SOURCE = b"epctx"
"""The ``source`` of nodes that are the target's own; a node of another one is not."""

_TEXTS = frozenset(
    ("ep_cache_context", "source", "partition_name", "ep_sdk_version", "hardware_architecture", "notes", "onnx_model_filename")
)
_NUMBERS = ("embed_mode", "main_context", "max_size")


@dataclass(frozen=True, slots=True)
class Named:
    """External data that a node names."""

    name: Name


def names_of(nodes: tuple[Node, ...]) -> list[Named] | str:
    """The data that the nodes name, in order, each name once; or in words what is malformed, so that everything is open.

    Nodes of another operator are not looked at, embedded contexts name nothing, and secondary nodes (``main_context`` 0) use the
    context of a main one.
    """
    out: dict[bytes, Named] = {}
    main, secondary = False, False
    for index, node in enumerate(nodes):
        if node.op_type != "EPContext" or node.domain != "com.microsoft":
            continue
        attributes = _attributes(node)
        if isinstance(attributes, str):
            return f"node {index}: {attributes}"
        if (source := attributes.get("source")) is not None and raw(source.text or "") != SOURCE:
            return f"node {index}: its source {shown(source.text)} is foreign"
        context = attributes.get("ep_cache_context")
        if _number(attributes, "main_context") == 0:
            secondary = True
            continue
        main = True
        if context is None:
            return f"node {index}: it has no ep_cache_context"
        if _number(attributes, "embed_mode") == 0:
            assert context.text is not None
            out.setdefault(raw(context.text), Named(context.text))
    if secondary and not main:
        return "no node is the main one"
    return list(out.values())


def _attributes(node: Node) -> dict[str, Attribute] | str:
    """The attributes by name, if each is there once, of its type and in its range; else what is wrong with them."""
    found: dict[str, Attribute] = {}
    for attribute in node.attributes:
        name = attribute.name
        if name in found:
            return f"the attribute {name} is doubled"
        found[name] = attribute
        if name in _TEXTS and attribute.text is None:
            return f"the attribute {name} is not a string"
        if name in _NUMBERS and attribute.number is None:
            return f"the attribute {name} is not an integer"
        if name in ("embed_mode", "main_context") and attribute.number not in (0, 1):
            return f"{name} is {attribute.number}"
    return found


def _number(attributes: dict[str, Attribute], name: str) -> int:
    """An integer attribute; the operator's own default is 1 for both of those that matter."""
    attribute = attributes.get(name)
    return 1 if attribute is None or attribute.number is None else attribute.number
