"""How attacks are written: what the decorators make of a function, and what they refuse."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable

import pytest

from epctx import attack
from epctx.attack import OPS, STANDARD, Draft, Family, Op, access, families, load, node, read, scene, write
from epctx.case import Attribute, Call, Content, File, Link
from epctx.errors import AttackError, UsageError


@pytest.fixture
def family() -> Family:
    return Family("links", "Links.")


def good() -> Draft:
    """A file inside is read."""
    return scene(calls=read("good.bin"))


def bad() -> Draft:
    """A file outside is refused."""
    return scene(calls=read("../outside/secret.bin"))


def test_function_becomes_case(family: Family) -> None:
    family.hostile("contain.parent", "safe.no-outside-read")(bad)
    (case,) = family.cases()
    assert case.id == "links/bad"
    assert case.family == "links"
    assert case.summary == "A file outside is refused."
    assert case.intent == "hostile"
    assert case.rules == ("contain.parent", "safe.no-outside-read")
    assert [(e.outcome, e.rule) for e in case.expect] == [("refuse", "contain.parent")]


def test_deciding_rule_is_added(family: Family) -> None:
    family.benign("size.exact")(good)
    assert family.cases()[0].rules == ("size.exact", "contain.accept-inside")


def test_axes_give_variants_in_order(family: Family) -> None:
    @family.hostile(
        "contain.symlink-file",
        "safe.no-outside-{op}",
        op=OPS,
        text={"near": "../outside/secret.bin", "far": "{root}/outside/secret.bin"},
    )
    def final_outside(op: Op, text: str) -> Draft:
        """A {op} through
        a link ({text})."""
        return scene(Link("model/link", text), calls=access(op, "link"))

    cases = family.cases()
    assert [case.id for case in cases] == [f"links/final-outside[{op},{text}]" for op in OPS for text in ("near", "far")]
    assert cases[3].summary == "A write through a link (far)."
    assert cases[3].rules[1] == "safe.no-outside-write"
    assert cases[3].world.entries[-1] == Link("model/link", "{root}/outside/secret.bin")
    assert family.cases() == cases


def test_none_drops_variant(family: Family) -> None:
    @family.benign("contain.accept-inside", op=OPS)
    def only_read(op: Op) -> Draft | None:
        """Text."""
        return good() if op == "read" else None

    assert [case.id for case in family.cases()] == ["links/only-read[read]"]


def test_decorated_function_stays_usable(family: Family) -> None:
    assert family.benign("contain.accept-inside")(good) is good


# --- what is refused --------------------------------------------------------------------------------------------------------


def test_duplicate_function(family: Family) -> None:
    family.benign("contain.accept-inside")(good)
    with pytest.raises(AttackError, match="links/good is there twice"):
        family.control("contain.accept-inside")(good)


def test_undocumented_function(family: Family) -> None:
    def silent() -> Draft:
        return good()

    with pytest.raises(AttackError, match="links/silent has no docstring"):
        family.benign("contain.accept-inside")(silent)


def test_no_rule(family: Family) -> None:
    with pytest.raises(AttackError, match="names no rule"):
        family.hostile()(bad)


def test_rule_that_is_none(family: Family) -> None:
    family.hostile("Contain Parent")(bad)
    with pytest.raises(AttackError, match="'Contain Parent' is not the id of a rule"):
        family.cases()


@pytest.mark.parametrize("axes", [{}, {"op": OPS, "more": ("a",)}, {"other": ("a",)}])
def test_axes_that_are_not_the_arguments(family: Family, axes: dict[str, tuple[str, ...]]) -> None:
    def wants_op(op: Op) -> Draft:
        """Text."""
        return good()

    with pytest.raises(AttackError, match="must take its axes as arguments"):
        family.benign("contain.accept-inside", windows=None, **axes)(wants_op)


@pytest.mark.parametrize("values", [(), {}, "read", ("a", "a"), ("A b",), ("a/b",), ("a,b",), ("[",), ("",)])
def test_axis_of_unfit_words(family: Family, values: tuple[str, ...]) -> None:
    def takes(word: str) -> Draft:
        """Text."""
        return good()

    with pytest.raises(AttackError, match="axis 'word'"):
        family.benign("contain.accept-inside", word=values)(takes)


@pytest.mark.parametrize("name", ["", "Links", "links/more", "a b", "9"])
def test_family_of_unfit_name(name: str) -> None:
    with pytest.raises(AttackError, match="cannot be called"):
        Family(name, "Text.")


def test_failing_function_names_case(family: Family) -> None:
    @family.benign("contain.accept-inside", op=OPS)
    def broken(op: Op) -> Draft:
        """Text."""
        raise KeyError("gone")

    with pytest.raises(AttackError, match=r"links/broken\[read\] cannot be built: 'gone'"):
        family.cases()


def test_unknown_field_in_summary(family: Family) -> None:
    def fielded() -> Draft:
        """A {thing}."""
        return good()

    family.benign("contain.accept-inside")(fielded)
    with pytest.raises(AttackError, match="links/fielded cannot be built: 'thing'"):
        family.cases()


# --- intents ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("intent", ["benign", "control"])
def test_refused_though_not_hostile(family: Family, intent: str) -> None:
    getattr(family, intent)("contain.parent")(bad)
    with pytest.raises(
        AttackError, match=rf"links/bad is meant to be {intent}, but the specification says: refuse by contain\.parent"
    ):
        family.cases()


def test_accepted_though_hostile(family: Family) -> None:
    family.hostile("contain.accept-inside")(good)
    with pytest.raises(AttackError, match="links/good is meant to be hostile, but the specification accepts it"):
        family.cases()


def test_one_refusal_makes_a_case_hostile(family: Family) -> None:
    @family.hostile("contain.parent")
    def mixed() -> Draft:
        """Text."""
        return scene(calls=(read("good.bin"), read("../outside/secret.bin")))

    assert [e.outcome for e in family.cases()[0].expect] == ["accept", "refuse"]


def test_intent_under_windows(family: Family) -> None:
    def device() -> Draft:
        """Text."""
        return scene(File("model/CON"), calls=read("CON"))

    family.benign("name.windows-device", windows="refuse")(device)
    assert family.cases()[0].expect[0].outcome == "accept"
    other = Family("other", "Text.")
    other.benign("name.windows-device", windows="accept")(device)
    with pytest.raises(AttackError, match="other/device under the rules of Windows is meant to be benign"):
        other.cases()


# --- the parts of a draft ---------------------------------------------------------------------------------------------------


def test_scene_adds_layout() -> None:
    draft = scene(File("model/more.bin"), calls=read("more.bin"), cwd="outside")
    assert draft.world.entries == (*STANDARD, File("model/more.bin"))
    assert draft.world.cwd == "outside"
    assert draft.calls == (Call("read", "more.bin"),)


def test_scene_entry_takes_place_of_layout() -> None:
    entry = File("model/good.bin", mode=0)
    assert scene(entry, calls=read("good.bin")).world.entries == (*STANDARD[1:], entry)
    assert scene(entry, calls=read("good.bin"), layout=()).world.entries == (entry,)


def test_calls_default_to_those_of_the_data_model() -> None:
    assert read("f") == Call("read", "f")
    assert write("f") == Call("write", "f")
    assert load() == Call("load")
    assert access("write", None, source="caller") == Call("write", None, "caller")
    assert write("f", payload=None, fallback="g") == Call("write", "f", payload=None, fallback="g")


def test_node_is_replaced_and_reduced() -> None:
    usual = [a.name for a in node("f").attributes]
    assert usual == ["main_context", "embed_mode", "ep_cache_context", "source", "partition_name"]
    one = Attribute("embed_mode", number=1)
    assert node("f", one).attributes.count(one) == 1
    assert len(node("f", one).attributes) == len(usual)
    assert len(node("f", one, one).attributes) == len(usual) + 1
    assert "source" not in [a.name for a in node("f", without=("source",)).attributes]


# --- installed families -----------------------------------------------------------------------------------------------------

PROVIDED = Family("provided", "A family of another distribution.")
NOT_A_FAMILY = Content("x")


@pytest.fixture
def provide(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def install(*points: tuple[str, str]) -> None:
        found = [importlib.metadata.EntryPoint(name, value, attack.ENTRY_POINTS) for name, value in points]
        monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: found)

    return install


def test_families_are_found(provide: Callable[..., None]) -> None:
    provide(("provided", f"{__name__}:PROVIDED"))
    assert families() == families("provided") == {"provided": PROVIDED}


def test_unknown_family(provide: Callable[..., None]) -> None:
    provide(("provided", f"{__name__}:PROVIDED"))
    with pytest.raises(UsageError, match="no family 'absent'; there are provided"):
        families("absent")


def test_family_provided_twice(provide: Callable[..., None]) -> None:
    provide(("provided", f"{__name__}:PROVIDED"), ("provided", "another:family"))
    with pytest.raises(AttackError, match="the family provided is provided twice"):
        families()


def test_same_distribution_seen_twice(provide: Callable[..., None]) -> None:
    provide(*[("provided", f"{__name__}:PROVIDED")] * 2)
    assert list(families()) == ["provided"]


@pytest.mark.parametrize("point", [("provided", "NOT_A_FAMILY"), ("renamed", "PROVIDED")])
def test_entry_point_that_is_no_such_family(provide: Callable[..., None], point: tuple[str, str]) -> None:
    provide((point[0], f"{__name__}:{point[1]}"))
    with pytest.raises(AttackError, match="is not the family of that name"):
        families()
