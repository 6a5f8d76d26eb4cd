from __future__ import annotations

import pytest

from epctx.errors import UsageError
from epctx.target import parse, prepare


def test_a_target_is_taken_apart() -> None:
    spec = parse("header:a/b.h?namespace=n&include=x&include=y=z")
    assert (spec.kind, spec.what) == ("header", "a/b.h")
    assert spec.options == {"namespace": ("n",), "include": ("x", "y=z")}
    assert spec.option("namespace") == "n"
    assert spec.option("missing", "default") == "default"


def test_a_path_may_hold_colons() -> None:
    assert parse("header:c:/b.h").what == "c:/b.h"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "names no target"),
        (":x", "names no target"),
        ("header:x?", "'' is no option"),
        ("header:x?namespace", "'namespace' is no option"),
        ("nothing:x", "there is no kind 'nothing'"),
        ("weak:nothing", "no weak target 'nothing'"),
        ("header:", "names no header"),
        ("header:does/not/exist.h", "no header"),
        ("header:x.h?namespac=n", "did you mean 'namespace'"),
        ("reference?platform=dos", "platform is posix or windows"),
        ("reference:what", "takes no name"),
        ("lib:/does/not/exist.so", "there is no library"),
    ],
)
def test_a_wrong_target_is_one_sentence(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        prepare(text)


def test_an_option_given_twice_is_refused_where_one_is_meant() -> None:
    with pytest.raises(UsageError, match="give it once"):
        parse("header:x?namespace=a&namespace=b").option("namespace")
