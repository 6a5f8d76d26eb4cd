"""The messages between epctx and a program: their schema, what the documentation shows, and what is no message."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any, Union

import msgspec
import pytest

from epctx.adapter import ReadCall, Refused, Skip, WriteCall
from epctx.target import program_schema
from epctx_driver import messages
from epctx_driver.messages import Encoded, Malformed, bytes_of, line_of, message_in, name_of, shown
from epctx_driver.program import Program

ROOT = Path(__file__).parents[2]
PAGE, SCHEMA = ROOT / "docs" / "reference" / "exec.md", ROOT / "docs" / "schema" / "exec.schema.json"
REPLAYING = ROOT / "tests" / "fakes" / "programs" / "replaying.py"


def conversation() -> list[tuple[str, dict[str, Any]]]:
    """What the page shows: who says it, and the message."""
    text = re.search(r"^```text\n(> .*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert text
    lines = re.sub(r"\n   ", "", text[1]).splitlines()
    return [(line[0], json.loads(line[2:])) for line in lines]


def decoder(kinds: tuple[type[Any], ...]) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(Union[tuple(program_schema.structs(kinds))])  # noqa: UP007  # of as many as there are


def test_the_schema_is_the_one_that_is_checked_in() -> None:
    assert json.loads(SCHEMA.read_text()) == program_schema.schema(), "write program_schema.schema() to docs/schema"


def test_the_schema_describes_every_message_and_field() -> None:
    for name, definition in program_schema.schema()["$defs"].items():
        assert definition.get("description"), name
        for field, value in definition.get("properties", {}).items():
            assert field in ("message", "base64") or value.get("description"), (name, field)


def test_the_conversation_that_is_shown_takes_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    (tmp_path / "conversation.json").write_text(json.dumps(conversation()))
    program = Program(shlex.split(f"{sys.executable} -S {REPLAYING} {tmp_path / 'conversation.json'}"), {})
    asked: list[object] = []

    def gives(name: str) -> bytes:
        asked.append(name)
        return b"secret"

    def refuses(name: str, content: Any) -> None:
        asked.append((name, content))
        raise Refused(1, "the disk of the key server is full")

    assert (program.description.target, program.description.can) == ("my loader 1.0", ("read", "write"))
    assert program.read(ReadCall("weights.bin", "/models/model.onnx", None, False)) == b"content"
    with pytest.raises(Exception, match=r"^it leads out of the directory of the model$"):
        program.read(ReadCall("../\udcff", "model.onnx", None, False))
    assert program.read(ReadCall("weights.bin", None, None, False, gives)) == b"secret"
    with pytest.raises(Exception, match=r"^the disk of the key server is full$") as told:
        program.write(WriteCall("weights.bin", "model.onnx", None, False, b"secret", callback=refuses))
    assert vars(told.value) == {"code": 1}
    with pytest.raises(Skip, match=r"^nothing is written on Sundays$"):
        program.write(WriteCall("/tmp/weights.bin", "model.onnx", None, True))
    assert asked == ["weights.bin", ("weights.bin", b"secret")]
    assert program.bye() == ""


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node here")
def test_the_program_that_is_shown_works(tmp_path: Path) -> None:
    text = re.search(r"^```js\n(.*?)^```$", (ROOT / "docs" / "start" / "program.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert text
    (tmp_path / "adapter.js").write_text(text[1])
    (tmp_path / "loader.js").write_text(
        "exports.read = (name, model, trusted) => {\n"
        "  if (trusted) throw new Error('nobody is trusted');\n"
        "  return Buffer.concat([model, Buffer.from(' '), name]);\n"
        "};\n"
    )
    program = Program(["node", str(tmp_path / "adapter.js")], {})
    assert program.description.unsupported == {"callbacks": "not yet"}
    assert program.read(ReadCall("\udcff", "model.onnx", None, False)) == b"model.onnx \xff"
    with pytest.raises(Exception, match=r"^nobody is trusted$"):
        program.read(ReadCall("f", "model.onnx", None, True))
    assert program.bye() == ""


def test_the_conversation_has_every_message() -> None:
    said = {(who, message["message"]) for who, message in conversation()}
    assert said == {(">", messages.TAGS[kind]) for kind in messages.FROM_EPCTX} | {
        ("<", messages.TAGS[kind]) for kind in messages.FROM_PROGRAM
    }


def test_the_conversation_keeps_to_the_schema() -> None:
    from_epctx, from_program = decoder(messages.FROM_EPCTX), decoder(messages.FROM_PROGRAM)
    for who, message in conversation():
        (from_epctx if who == ">" else from_program).decode(json.dumps(message))


RESULT = {"message": "result", "id": 1}


@pytest.mark.parametrize(
    ("said", "good"),
    [
        (RESULT, True),
        ({**RESULT, "payload": ""}, True),
        ({**RESULT, "payload": None}, True),
        ({**RESULT, "payload": "AA=="}, True),
        ({**RESULT, "payload": "A"}, False),
        ({**RESULT, "payload": 3}, False),
        ({**RESULT, "id": "1"}, False),
        ({**RESULT, "id": True}, False),
        ({**RESULT, "id": None}, False),
        ({**RESULT, "id": 1.5}, False),
        ({**RESULT, "more": 1}, False),
        ({"message": "result"}, False),
        ({"id": 1}, False),
        ({"message": "answer", "id": 1}, False),
        ({"message": ["result"], "id": 1}, False),
        ({"message": "error", "text": "no"}, True),
        ({"message": "error", "text": "no", "id": 1, "code": 2}, True),
        ({"message": "error", "id": 1}, False),
        ({"message": "callback", "id": 1, "name": {"base64": "/w=="}}, True),
        ({"message": "callback", "id": 1, "name": {"base64": "/w==", "text": "f"}}, False),
        ({"message": "callback", "id": 1, "name": None}, False),
        ({"message": "describe", "target": "t", "can": ["read"]}, True),
        ({"message": "describe", "target": "t", "can": ["fly"]}, False),
        ({"message": "describe", "target": "t", "can": "read"}, False),
        ({"message": "describe", "target": "t", "can": [], "unsupported": {"trusted": 1}}, False),
        ({"message": "describe", "target": "t", "can": [], "unsupported": []}, False),
        ({"message": "bye", "id": 1}, False),
        ([RESULT], False),
        ("result", False),
        (None, False),
    ],
)
def test_the_driver_takes_what_the_schema_takes(said: Any, good: bool) -> None:
    line = json.dumps(said).encode()
    taken = []
    for take, refusal in ((message_in, Malformed), (decoder(messages.FROM_PROGRAM).decode, msgspec.ValidationError)):
        try:
            take(line)
            taken.append(True)
        except refusal:
            taken.append(False)
    assert taken == [good, good]


@pytest.mark.parametrize("data", [b"f", "größe".encode(), b"", b"\xff", b"a\0b", b"\xed\xa0\x80", b"\r\n\x1b", "\u2028".encode()])
def test_each_name_is_written_in_one_way_and_comes_back(data: bytes) -> None:
    line = line_of(messages.Callback(1, name_of(data)))
    assert line.isascii()
    assert line.count(b"\n") == 1
    said = message_in(line)
    assert isinstance(said, messages.Callback)
    assert bytes_of(said.name) == data
    assert isinstance(said.name, str) == (b"\0" not in data and data.decode("utf-8", "ignore").encode() == data)


def test_half_of_a_surrogate_pair_is_no_name() -> None:
    with pytest.raises(Malformed, match="half of a surrogate pair"):
        bytes_of("\ud800")
    assert bytes_of(Encoded(b"\xed\xa0\x80")) == b"\xed\xa0\x80"


def test_what_came_is_shown_short_and_printable() -> None:
    assert shown(b"\x1b[2J\xff\n") == r"\x1b[2J\xff\n"
    assert shown(b"x" * 1000, 10) == "xxxxxxxxxx… (1000 bytes)"
