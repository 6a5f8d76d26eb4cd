"""Dictionaries, in the format of libFuzzer and as plain lines."""

from __future__ import annotations

from pathlib import Path

import pytest

import epctx_corpora
from epctx.case import raw
from epctx.errors import UsageError
from epctx.fuzz import Dice, Grammar, dictionary, paths


def tokens(path: Path, text: bytes) -> list[bytes]:
    path.write_bytes(text)
    return [raw(token) for token in dictionary.read(path)]


def test_a_dictionary_is_what_libfuzzer_takes_for_one(tmp_path: Path) -> None:
    text = b'# words\n\n"plain"\nkw1="../"\n  lower@2 = "a\\"b\\\\c" \n"\\xff\\x00\\x2f"\n"\xc3\xb6"\n'
    assert tokens(tmp_path / "own.dict", text) == [b"plain", b"../", b'a"b\\c', b"\xff\0/", "ö".encode()]


def test_of_any_other_file_each_line_is_a_name(tmp_path: Path) -> None:
    assert tokens(tmp_path / "own.txt", b'# no comment\n\n"quoted"\na\xffb\n') == [b"# no comment", b'"quoted"', b"a\xffb"]


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    words = [b"plain", b'"', b"\\", b"\0\x7f\xff", b"a b", "größe".encode(), b"#"]
    assert tokens(tmp_path / "own.dict", dictionary.dumps(words, "words").encode()) == words


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("own.dict", b'"good"\nbad\n', "own.dict, line 2: this is no token"),
        ("own.dict", b'"a\\n"\n', "own.dict, line 1: this is no token"),
        ("own.dict", b'""\n', "own.dict, line 1: this is no token"),
        ("own.dict", b"# nothing\n", "holds no token"),
        ("own.txt", b"\n\n", "holds no token"),
        ("own.txt", b"x" * 5000, "one of more than 4096 bytes"),
    ],
)
def test_a_mistake_is_told(tmp_path: Path, name: str, text: bytes, sentence: str) -> None:
    (tmp_path / name).write_bytes(text)
    with pytest.raises(UsageError, match=sentence):
        dictionary.read(tmp_path / name)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        dictionary.read(tmp_path / "none.dict")


def test_the_dictionary_that_comes_along_can_be_used() -> None:
    words = dictionary.read(epctx_corpora.DICTIONARY)
    assert {b"..", b"../", b"/", b"%2e%2e", b"\xc0\xae", b"good.bin", b"outside"} <= set(map(raw, words))
    dice, grammar = Dice(4), Grammar(words)
    cases = [case for number in range(2000) if (case := grammar.case(dice, f"fuzz/4-{number}"))]
    tried = {raw(name) for case in cases for call in case.calls for name in call.names}
    own = set(map(raw, words)) - {raw(name) for name in paths.COMPONENTS}
    assert len(tried & own) > 20
