"""Names as such: empty, strange, long, undecodable, and those that only a loader which interprets them would misread."""

from __future__ import annotations

from epctx.attack import OPS, Draft, Family, Op, access, load, node, read, scene, write
from epctx.case import Content, Dir, File, Link, Model, Name, Piece

family = Family("names", "Empty, strange, overlong and undecodable names, and names that some loaders expand or decode.")


# --- no name ----------------------------------------------------------------------------------------------------------------


@family.hostile(
    "name.empty", "status.code", "safe.error-has-text", op=OPS, name={"null": None, "empty": ""}, source=("model", "caller")
)
def absent(op: Op, name: Name | None, source: str) -> Draft:
    """A {name} name from the {source} is refused on {op}; it never means the model directory or the working directory."""
    return scene(calls=access(op, name, source="model" if source == "model" else "caller"))


@family.hostile("name.empty", "contain.no-model-path", op=OPS, name={"null": None, "empty": ""})
def absent_beside_model_from_memory(op: Op, name: Name | None) -> Draft:
    """A {name} name of a model from memory is refused on {op} like any other."""
    return scene(calls=access(op, name), model=Model(given=""), cwd="outside")


@family.hostile("out.empty-on-error", "name.empty", name={"null": None, "empty": ""})
def absent_clears_output(name: Name | None) -> Draft:
    """An output that held data is empty after a {name} name was refused."""
    return scene(calls=read(name, held=True))


@family.hostile("out.empty-on-error", name={"missing": "none.bin", "escape": "../outside/secret.bin", "directory": "sub"})
def refusal_clears_output(name: str) -> Draft:
    """An output that held data is empty after a refusal ({name})."""
    return scene(calls=read(name, held=True))


# --- names of directories ---------------------------------------------------------------------------------------------------

DIRECTORIES = {
    "dot": ".",
    "dot-slash": "./",
    "dot-dot-inside": "sub/..",
    "trailing-slash": "sub/",
    "trailing-dot": "sub/.",
    "trailing-slashes": "sub//",
    "plain": "sub",
}


@family.hostile("type.read-directory", "safe.no-crash", name=DIRECTORIES)
def read_directory(name: str) -> Draft:
    """A directory inside is not a file to read ({name})."""
    return scene(calls=read(name))


@family.hostile("type.write-regular", "safe.no-crash", name=DIRECTORIES)
def write_directory(name: str) -> Draft:
    """A directory inside is not a file to write, and stays as it was ({name})."""
    return scene(calls=write(name))


@family.hostile("contain.parent", op=OPS, name={"dot-dot": "..", "dot-dot-slash": "../", "sub": "sub/../..", "dot": "./.."})
def parent_itself(op: Op, name: str) -> Draft:
    """The parent of the model directory is outside, and no {op} gets there ({name})."""
    return scene(calls=access(op, name))


@family.hostile("contain.parent", op=OPS, name={"plain": "../outside", "slash": "../outside/", "dot": "../outside/."})
def directory_outside(op: Op, name: str) -> Draft:
    """A directory outside is refused for {op} because of where it is, not because of what it is ({name})."""
    return scene(calls=access(op, name))


# --- files used as directories ----------------------------------------------------------------------------------------------


@family.hostile(
    "type.read-missing",
    name={"child": "good.bin/child", "dot": "good.bin/.", "slash": "good.bin/", "dot-dot": "good.bin/../good.bin"},
)
def read_file_as_directory(name: str) -> Draft:
    """A file has no children, also where a walk over text alone would find one ({name})."""
    return scene(calls=read(name))


@family.hostile("type.write-parent-missing", name={"child": "good.bin/child", "deep": "good.bin/deep/child"})
def write_file_as_directory(name: str) -> Draft:
    """A file is not made a directory for the sake of a new child ({name})."""
    return scene(calls=write(name))


@family.hostile("type.write-parent-missing", name={"slash": "good.bin/", "dot": "good.bin/.", "new-slash": "new.bin/"})
def write_with_trailing_slash(name: str) -> Draft:
    """A name that asks for a directory is not one to write a file to ({name})."""
    return scene(calls=write(name))


# --- spellings of a plain name ----------------------------------------------------------------------------------------------

SPELLINGS = {
    "plain": "good.bin",
    "dot": "./good.bin",
    "dots": "././good.bin",
    "slashes": ".//good.bin",
    "nested": "sub/inner.bin",
    "interior-slashes": "sub//inner.bin",
    "interior-dot": "sub/./inner.bin",
    "both": "./sub/.//./inner.bin",
}


@family.benign("contain.accept-inside", op=OPS, name=SPELLINGS)
def spelling(op: Op, name: str) -> Draft:
    """A {op} of a file inside is accepted under each of its spellings ({name})."""
    return scene(calls=access(op, name))


@family.benign(
    "contain.accept-inside", name={"plain": "new.bin", "dot": "./new.bin", "nested": "sub/new.bin", "slashes": "sub//new.bin"}
)
def new_file(name: str) -> Draft:
    """A new file inside is created ({name})."""
    return scene(calls=write(name))


LITERAL = {
    "dots-first": "..foo",
    "three-dots": "...",
    "four-dots": "....",
    "dots-inside": "a..b",
    "dots-last": "foo..",
    "dotfile": ".hidden",
    "dots-directory": "..d/f.bin",
    "three-dots-directory": ".../f.bin",
    "dots-after-sub": "sub/..foo",
    "leading-space": " good.bin",
    "trailing-space": "good.bin ",
    "only-space": " ",
    "space-directory": "a b/c d.bin",
    "space-dots": ".. /f.bin",
    "leading-dash": "-rf",
    "newline": "a\nb.bin",
    "carriage-return": "a\rb.bin",
    "tab": "a\tb.bin",
    "escape": "a\x1b[31mb.bin",
    "delete": "a\x7fb.bin",
    "quote": "a'b\"c.bin",
    "semicolon": "a;b&c|d.bin",
    "format": "%s%n%d.bin",
    "braces": "{0}{}.bin",
    "utf-8": "größe-模型-🔒.bin",
    "combining": "e\u0301.bin",
    "right-to-left": "good\u202enib.bin",
    "zero-width": "go\u200bod.bin",
    "byte-order-mark": "\ufeffgood.bin",
}


@family.benign("contain.accept-inside", op=OPS, name=LITERAL)
def literal(op: Op, name: str) -> Draft:
    """A {op} takes a name with unusual but harmless characters as it stands ({name})."""
    return scene(File(f"model/{name}"), calls=access(op, name))


@family.hostile(
    "type.read-missing", name={"leading": " good.bin", "trailing": "good.bin ", "newline": "good.bin\n", "both": "\tgood.bin\r\n"}
)
def white_space_is_not_trimmed(name: str) -> Draft:
    """White space is part of the name: without it another file would be read ({name})."""
    return scene(calls=read(name))


@family.hostile(
    "type.read-missing", "safe.no-outside-read", name={"inside": " ../outside/secret.bin", "newline": "\n../outside/secret.bin"}
)
def white_space_hides_dots(name: str) -> Draft:
    """White space before `..` makes it another, missing directory; a loader that trims after its check leaves by it ({name})."""
    return scene(calls=read(name))


@family.hostile(
    "name.log-safe",
    "type.read-missing",
    name={
        "newline": "none\nERROR: all is well",
        "escape": "none\x1b[2J\x1b[31m",
        "return": "none\rfine",
        "bell": "none\x07",
        "c1": "none\u009b31m",
    },
)
def control_characters_in_errors(name: str) -> Draft:
    """The error about a missing file does not carry the control characters of its name to a terminal or a log ({name})."""
    return scene(calls=read(name))


@family.hostile(
    "name.log-safe", "contain.parent", op=OPS, path={"newline": "outside/x\nERROR: all is well", "escape": "outside/x\x1b[2J"}
)
def control_characters_in_refusals(op: Op, path: str) -> Draft:
    """The refusal of an escape does not carry the control characters of its name ({op}, {path})."""
    return scene(File(path), calls=access(op, f"../{path}"))


# --- expansion and decoding -------------------------------------------------------------------------------------------------

EXPANDED = {
    "home": "~/secret.bin",
    "home-user": "~root/secret.bin",
    "variable": "$HOME/secret.bin",
    "variable-braces": "${HOME}/secret.bin",
    "windows-variable": "%HOME%/secret.bin",
    "command": "$(pwd)/good.bin",
    "backticks": "`pwd`/good.bin",
    "star": "*.bin",
    "star-directory": "*/inner.bin",
    "question": "goo?.bin",
    "class": "[g]ood.bin",
    "alternatives": "{good,bad}.bin",
    "percent": "good%2ebin",
    "percent-slash": "sub%2finner.bin",
    "percent-percent": "good%252ebin",
    "plus": "a+good.bin",
    "entity": "good&#46;bin",
    "escape-sequence": "good\\x2ebin",
    "file-url": "file:good.bin",
    "http-url": "http://localhost/f.bin",
    "query": "good.bin?x=1",
    "fragment": "good.bin#x",
}


@family.benign("name.no-expansion", op=OPS, name=EXPANDED)
def expansion_is_literal(op: Op, name: str) -> Draft:
    """A {op} takes characters that a shell, a glob or a URL would interpret as they stand ({name})."""
    path = "/".join(part for part in name.split("/") if part)
    return scene(File(f"model/{path}"), calls=access(op, name))


@family.hostile("name.no-expansion", "type.read-missing", name=EXPANDED)
def expansion_finds_nothing(name: str) -> Draft:
    """Without a file of that very name there is nothing to read, whatever an expansion would find ({name})."""
    return scene(File("model/a good.bin"), calls=read(name))


@family.benign(
    "name.no-expansion",
    "safe.no-crash",
    op=OPS,
    name={"percent": "good.bin%", "digit": "good.bin%4", "percent-twice": "good%.bin%%", "percent-only": "%"},
)
def escape_cut_off(op: Op, name: str) -> Draft:
    """A {op} takes a % as it stands where the name ends before two digits have come ({name})."""
    return scene(File(f"model/{name}"), calls=access(op, name))


ENCODED_ESCAPES = {
    "percent-dots": "%2e%2e/outside/secret.bin",
    "percent-all": "%2e%2e%2foutside%2fsecret.bin",
    "percent-slash": "..%2foutside%2fsecret.bin",
    "percent-upper": "%2E%2E%2Foutside%2Fsecret.bin",
    "percent-mixed": ".%2e/outside/secret.bin",
    "percent-percent": "%252e%252e%252foutside%252fsecret.bin",
    "percent-u": "%u002e%u002e%u2215outside%u2215secret.bin",
    "percent-overlong": "%c0%ae%c0%ae%c0%afoutside/secret.bin",
    "percent-backslash": "..%5coutside%5csecret.bin",
    "file-url": "file://{root}/outside/secret.bin",
    "file-url-short": "file:{root}/outside/secret.bin",
    "file-url-upper": "FILE://{root}/outside/secret.bin",
    "file-url-relative": "file:../outside/secret.bin",
    "entity": "&#46;&#46;&#47;outside&#47;secret.bin",
    "escape-sequence": "\\x2e\\x2e\\x2foutside\\x2fsecret.bin",
    "octal": "\\056\\056\\057outside\\057secret.bin",
    "fullwidth-dot": "\uff0e\uff0e/outside/secret.bin",
    "fullwidth-slash": "..\uff0foutside\uff0fsecret.bin",
    "fullwidth-both": "\uff0e\uff0e\uff0foutside\uff0fsecret.bin",
    "leader-dots": "\u2024\u2024/outside/secret.bin",
    "two-dot-leader": "\u2025/outside/secret.bin",
    "division-slash": "..\u2215outside\u2215secret.bin",
    "fraction-slash": "..\u2044outside\u2044secret.bin",
    "zero-width": ".\u200b./outside/secret.bin",
    "right-to-left": "\u202e../outside/secret.bin",
    "soft-hyphen": ".\u00ad./outside/secret.bin",
    "overlong-dot": (Piece(hex="c0ae", times=2), Piece("/outside/secret.bin")),
    "overlong-slash": (Piece(".."), Piece(hex="c0af"), Piece("outside"), Piece(hex="c0af"), Piece("secret.bin")),
    "overlong-three": (Piece(hex="e080ae", times=2), Piece("/outside/secret.bin")),
    "backslash": "..\\outside\\secret.bin",
    "backslash-slash": "..\\/outside/secret.bin",
    "backslash-mixed": "sub\\..\\..\\outside/secret.bin",
    "backslash-escape": "\\.\\./outside/secret.bin",
}


@family.hostile("name.no-expansion", "safe.no-outside-read", name=ENCODED_ESCAPES)
def encoded_escape_read(name: Name) -> Draft:
    """What becomes `..` or `/` only when it is decoded is an ordinary character, and no file has that name ({name})."""
    return scene(calls=read(name))


@family.hostile(
    "name.no-expansion",
    "safe.no-outside-write",
    name={
        word: ENCODED_ESCAPES[word]
        for word in ("percent-dots", "file-url", "fullwidth-dot", "zero-width", "overlong-dot", "backslash-slash")
    },
)
def encoded_escape_write(name: Name) -> Draft:
    """A write does not decode the name either: the directory of that very name is missing ({name})."""
    return scene(calls=write(name))


@family.benign(
    "name.no-expansion",
    op=OPS,
    name={
        "percent": "%2e%2e%2ff.bin",
        "percent-percent": "%252e%252e%252ff.bin",
        "fullwidth-dot": "\uff0e\uff0e/f.bin",
        "fullwidth-slash": "..\uff0ff.bin",
        "leader-dots": "\u2024\u2024/f.bin",
        "division-slash": "..\u2215f.bin",
        "zero-width": ".\u200b./f.bin",
        "backslash": "..\\f.bin",
        "backslash-slash": "..\\/f.bin",
        "backslash-only": "\\",
    },
)
def encoded_name_exists(op: Op, name: str) -> Draft:
    """A {op} reaches the file whose name looks like an encoded escape, and not the one that decoding would find ({name})."""
    return scene(File(f"model/{name}"), File("f.bin"), calls=access(op, name))


UNDECODABLE = {
    "byte-ff": (Piece("a"), Piece(hex="ff"), Piece(".bin")),
    "overlong": (Piece("a"), Piece(hex="c0ae"), Piece(".bin")),
    "surrogate": (Piece("a"), Piece(hex="eda080"), Piece(".bin")),
    "cut-off": (Piece("a"), Piece(hex="e2"), Piece(".bin")),
    "cut-off-at-end": (Piece("a.bin"), Piece(hex="f09f98")),
    "above-limit": (Piece("a"), Piece(hex="f4908080"), Piece(".bin")),
    "latin-1": (Piece("gr"), Piece(hex="f6df"), Piece("e.bin")),
}


@family.benign("name.invalid-utf8", windows="refuse", op=OPS, name=UNDECODABLE)
def undecodable(op: Op, name: tuple[Piece, ...]) -> Draft:
    """A {op} takes bytes that are not UTF-8 as they stand; Windows has no such names and refuses them ({name})."""
    return scene(File((Piece("model/"), *name)), calls=access(op, name))


@family.hostile("name.invalid-utf8", "type.read-missing", name=UNDECODABLE)
def undecodable_is_not_repaired(name: tuple[Piece, ...]) -> Draft:
    """A name that is not UTF-8 is not repaired into one that exists, be it by leaving bytes out or by replacing them ({name})."""
    return scene(File("model/a.bin"), File("model/a\ufffd.bin"), File("model/größe.bin"), calls=read(name))


# --- NUL --------------------------------------------------------------------------------------------------------------------


@family.hostile(
    "name.embedded-nul",
    "safe.no-outside-read",
    name={
        "escape-behind": "good.bin\0../../outside/secret.bin",
        "escape-before": "../outside/secret.bin\0.bin",
        "absolute-before": "{root}/outside/secret.bin\0.bin",
        "cut-to-other": "good.bin\0.enc",
        "first": "\0good.bin",
        "last": "good.bin\0",
        "only": "\0",
        "balanced": "../outside/secret.bin\0/../../model/good.bin",
        "directory": "sub\0/inner.bin",
    },
)
def embedded_nul(name: str) -> Draft:
    """A NUL in the attribute does not make a loader check one name and open another ({name})."""
    return scene(calls=load(), model=Model(nodes=(node(name),)))


# --- length -----------------------------------------------------------------------------------------------------------------


@family.benign("contain.accept-inside", op=OPS, size={"200": 200, "254": 254, "255": 255})
def long_component(op: Op, size: int) -> Draft:
    """A {op} accepts a component of {size} bytes, which file systems can hold."""
    name = (Piece("n", times=size),)
    return scene(File((Piece("model/"), *name)), calls=access(op, name))


@family.benign("contain.accept-inside", size={"236": 236, "255": 255})
def long_component_new(size: int) -> Draft:
    """A new file with a name of {size} bytes is created, also if the loader writes under a longer, temporary name first."""
    return scene(calls=write((Piece("n", times=size),)))


@family.hostile("name.too-long", "safe.no-crash", op=OPS, size={"256": 256, "500": 500, "5000": 5000})
def component_too_long(op: Op, size: int) -> Draft:
    """A {op} of a component of {size} bytes ends with an error, not with an abort."""
    return scene(calls=access(op, (Piece("n", times=size),)))


@family.hostile(
    "name.too-long",
    "safe.no-crash",
    op=OPS,
    place={"first": ("", "/good.bin"), "middle": ("sub/", "/inner.bin"), "cancelled": ("", "/../good.bin")},
)
def directory_too_long(op: Op, place: tuple[str, str]) -> Draft:
    """A {op} through a directory whose name is too long ends with an error ({place})."""
    before, after = place
    pieces = (Piece(before), Piece("n", times=300), Piece(after))
    return scene(calls=access(op, tuple(piece for piece in pieces if piece.text)))


@family.hostile(
    "name.too-long",
    "safe.no-crash",
    op=OPS,
    size={"4094": 4094, "4095": 4095, "4096": 4096, "65536": 65536, "1048576": 1 << 20},
)
def path_too_long(op: Op, size: int) -> Draft:
    """A {op} of a path of {size} bytes, none of whose directories exist, ends with an error."""
    return scene(calls=access(op, (Piece("d/", times=(size - 2) // 2), Piece("f" * (2 + size % 2)))))


@family.hostile("name.too-long", "contain.parent", op=OPS, climbs={"1400": 1400, "30000": 30000})
def path_too_long_and_climbing(op: Op, climbs: int) -> Draft:
    """A {op} of a path with {climbs} times `../` that comes down to a file outside never gets there."""
    return scene(calls=access(op, (Piece("../", times=climbs), Piece("..{root}/outside/secret.bin"))))


@family.hostile("name.too-long", "safe.no-crash", op=OPS)
def many_components(op: Op) -> Draft:
    """A {op} of a path of 4,096 nested directories ends with an error, not with a stack that overflows."""
    return scene(calls=access(op, (Piece("d/", times=4096), Piece("f.bin"))))


@family.benign(
    "contain.accept-inside", op=OPS, repeat={"dot": ("./", 300), "slash": ("./" + "/" * 63, 8), "in-and-out": ("sub/../", 100)}
)
def long_but_simple(op: Op, repeat: tuple[str, int]) -> Draft:
    """A {op} of a long spelling of a short path is accepted below the limits of the system ({repeat})."""
    text, times = repeat
    return scene(calls=access(op, (Piece(text, times=times), Piece("good.bin"))))


@family.benign("contain.accept-inside", op=OPS, depth={"8": 8, "24": 24})
def deep_directories(op: Op, depth: int) -> Draft:
    """A {op} of a file {depth} directories down is accepted."""
    name = (Piece("d/", times=depth), Piece("f.bin"))
    return scene(File((Piece("model/"), *name)), calls=access(op, name))


# --- particular files -------------------------------------------------------------------------------------------------------


@family.benign("contain.accept-inside", name={"plain": "model.onnx", "dot": "./model.onnx", "around": "sub/../model.onnx"})
def model_itself(name: str) -> Draft:
    """The model file is a regular file inside, so that it can be read ({name})."""
    return scene(calls=read(name))


@family.hostile(
    "type.read-missing",
    name={
        "upper": "GOOD.BIN",
        "mixed": "Good.bin",
        "directory": "SUB/inner.bin",
        "kelvin": "\u212aey.bin",
        "dotless": "\u0131.bin",
    },
)
def case_is_not_folded(name: str) -> Draft:
    """A name that equals an existing one in all but case is missing ({name})."""
    return scene(File("model/key.bin"), File("model/i.bin"), calls=read(name))


@family.benign("contain.accept-inside", op=OPS, name={"upper": "GOOD.BIN", "directory": "SUB/inner.bin"})
def case_tells_apart(op: Op, name: str) -> Draft:
    """Of two files whose names differ in case only, a {op} takes the one that was named ({name})."""
    return scene(File(f"model/{name}"), calls=access(op, name))


@family.benign("contain.accept-inside", op=OPS)
def empty_layout(op: Op) -> Draft:
    """A {op} beside a model that is alone in its directory needs nothing else."""
    return scene(File("model/f.bin"), calls=access(op, "f.bin"), layout=())


@family.hostile("type.read-missing", "type.write-parent-missing")
def missing_then_written() -> Draft:
    """A refused read of a missing file leaves nothing behind that a later write trips over."""
    return scene(calls=(read("new.bin"), write("new.bin", payload=Content("later")), read("new.bin")))


@family.hostile("contain.symlink-file", "safe.no-outside-read")
def literal_name_is_a_link() -> Draft:
    """A harmless looking name with dots can still be a link to a file outside."""
    return scene(Dir("model/..d"), Link("model/..d/..foo", "../../outside/secret.bin"), calls=read("..d/..foo"))
