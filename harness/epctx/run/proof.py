"""What shows that an execution provider took a file: the result of a run, or else that the file was opened.

The files of a world hold products of the provider in place of the bytes that they are declared to hold, each content another one.
What is seen is told as if they held what they declare, so that nothing after this needs to know of products.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from epctx.case import Call, Case, Content, File, World, content_of
from epctx.observation import Output, Seen, Touched, content_digest, digest
from epctx.product import Product, Products
from epctx.spec import predict
from epctx.world import Given, LiveWorld

TERABYTE = 1 << 40
"""No file of that size has its content looked at."""
_SIZE = Content("").size


def obstacle(case: Case, products: Products) -> str:
    """Why the files of a case cannot hold products; else nothing. Where only opens count, they hold what they declare."""
    served = [expect for expect in case.expect or predict(case) if expect.outcome != "refuse"]
    if any(expect.file == case.model.path for expect in served):
        return "the model itself is not good data for a provider"
    attributes = [attribute for node in case.model.nodes for attribute in node.attributes]
    if served and any(a.name == "embed_mode" and a.number for a in attributes):
        return "what a case has in its node is not good data for a provider"
    if not products.products:
        return ""
    if not all(expect.content is None or _replaceable(expect.content) for expect in served):
        return "what a provider compiles is of the size that it is, so no file of another one is good data"
    if len(_contents(case.world)) > len(products.products):
        return "the files of its world have more contents than a provider is asked to compile"
    return ""


def with_products(world: World, products: Products) -> World:
    """A world whose files hold products, but for those that are declared to hold something particular."""
    if not products.products:
        return world
    given = dict(zip(_contents(world), products.products, strict=False))
    entries = [_given(e, given[content_of(e)]) if isinstance(e, File) and content_of(e) in given else e for e in world.entries]
    return World(tuple(entries), world.cwd)


def told(case: Case, call: Call, products: Products, world: LiveWorld, seen: Seen, result: bytes) -> Seen:
    """What was seen of a read or a load, in the words of the case: which content ``result`` is that of, or which file was opened.

    ``seen`` has what was touched already.
    """
    if seen.ended != "returned":
        return seen
    if not products.products:
        shown = _by_open(world, seen)
    else:
        shown = seen if seen.code else _by_result(case, products, world, seen, result)
    return replace(shown, output=None) if call.op == "load" else shown


def _by_result(case: Case, products: Products, world: LiveWorld, seen: Seen, result: bytes) -> Seen:
    number = next((n for n, product in enumerate(products.products) if product.result == result), None)
    contents = _contents(case.world)
    if number is None or number >= len(contents):
        return seen
    blob, content = products.products[number].blob, contents[number]
    names = world.reads(len(blob), digest(blob))
    inside = any(world.place(name) == "inside" for name in names)
    return replace(
        seen,
        output=Output(content.size, content_digest(content)),
        reads=names,
        leaks=seen.leaks if inside else tuple(dict.fromkeys((*seen.leaks, *names))),
        shown_by="result",
    )


def _by_open(world: LiveWorld, seen: Seen) -> Seen:
    found = [(t, content) for t in _worst_first(seen.touched) if (content := world.content_at(t.names)) is not None]
    if not found:
        return seen
    touched, content = found[0]
    output = Output(content.size, content_digest(content) if content.size < TERABYTE else "")
    return replace(seen, code=0, message="", output=output, reads=touched.names, shown_by="open")


def _worst_first(touched: Sequence[Touched]) -> list[Touched]:
    return sorted((t for t in touched if t.what == "open"), key=lambda t: t.place == "inside")


def _given(file: File, product: Product) -> Given:
    return Given(file.path, file.content, file.mode, file.attribute, product.blob)


def _contents(world: World) -> list[Content]:
    """The contents of a world's files that a product can stand for, each once, in order."""
    contents = (content_of(e) for e in world.entries if isinstance(e, File))
    return [content for content in dict.fromkeys(contents) if _replaceable(content)]


def _replaceable(content: Content) -> bool:
    return content.size == _SIZE and not content.sparse
