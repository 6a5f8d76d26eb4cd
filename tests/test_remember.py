from __future__ import annotations

from epctx.remember import remembered


class Thing:
    """Equal to all others, and so told apart by identity alone."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


def test_an_answer_is_given_again_for_the_same_object_only() -> None:
    asked: list[Thing] = []

    @remembered()
    def number(thing: Thing) -> int:
        asked.append(thing)
        return len(asked)

    one, other = Thing(), Thing()
    assert [number(one), number(other), number(one), number(other)] == [1, 2, 1, 2]


def test_the_oldest_answers_are_forgotten_and_no_identity_is_mistaken() -> None:
    asked: list[int] = []

    @remembered(2)
    def number(thing: Thing) -> int:
        asked.append(id(thing))
        return len(asked)

    first = Thing()
    assert number(first) == 1
    for count in range(2, 10):
        assert number(Thing()) == count  # whatever became of the ones before it
    assert number(first) == 10
