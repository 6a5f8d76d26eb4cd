"""A case and an observation in full, for people: the world as a tree, the calls, what is expected and why, what was seen."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text
from rich.tree import Tree

from epctx.case import Call, Case, Expect, shown
from epctx.observation import Observation
from epctx.report.console import indented
from epctx.report.terminal import labelled
from epctx.report.tree import Kind, Node, tree
from epctx.report.words import call_rows, seen_rows

STYLES: dict[Kind, str] = {
    "root": "dim",
    "link": "cyan",
    "hardlink": "cyan",
    "fifo": "yellow",
    "socket": "yellow",
    "device": "yellow",
    "mount": "magenta",
}


def case_detail(case: Case, expects: Sequence[Expect]) -> RenderableType:
    """The case ``case``, with what is expected of each of its calls."""
    parts: list[RenderableType] = [
        Text.assemble((case.id, "bold"), f"  ({case.intent})"),
        Text(case.summary),
        *([Text(f"aims at {', '.join(case.rules)}", style="dim")] if case.rules else []),
        Text(),
        indented(world_tree(case)),
        indented(Text(f"model given as {shown(case.model.given) or '(bytes, no path)'}", style="dim")),
    ]
    for number, (call, expect) in enumerate(zip(case.calls, expects, strict=True), 1):
        parts += [Text(), indented(_call(number, call, expect))]
    return Group(*parts)


def world_tree(case: Case) -> Tree:
    """The world of a case as a tree, links with their text, the working directory and the model marked."""
    root, *nodes = tree(case)
    above = [Tree(_label(root), guide_style="dim")]
    for node in nodes:
        del above[node.depth :]
        above.append(above[-1].add(_label(node)))
    return above[0]


def _label(node: Node) -> Text:
    if node.kind == "model":
        return Text.assemble((node.name, "bold"), (f"  {node.about}", "dim"))
    about = f"{' ' if node.kind == 'link' else '  '}{node.about}" if node.about else ""
    return Text(f"{node.name}{about}", style=STYLES.get(node.kind, ""))


def _call(number: int, call: Call, expect: Expect) -> RenderableType:
    style = "green" if expect.outcome == "accept" else "yellow"
    return labelled(
        (label, Text(text, style) if label == "expected" else text) for label, text in call_rows(number, call, expect)
    )


def observation_detail(observation: Observation) -> RenderableType:
    """Everything that was seen of a case."""
    parts: list[RenderableType] = [Text.assemble("\n", ("seen on ", "bold"), (observation.target, "bold"))]
    if observation.skipped or observation.error:
        parts.append(indented(Text(observation.skipped or observation.error)))
    for number, seen in enumerate(observation.calls, 1):
        parts.append(indented(labelled(seen_rows(number, seen))))
    return Group(*parts)
