"""Profiles: which rules must hold."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias, cast, get_args

from msgspec.structs import replace

from epctx.case import Platform, Struct
from epctx.errors import UsageError

Tier: TypeAlias = Literal["spec", "stable", "hardened", "policy"]
Stance: TypeAlias = Literal["accept", "refuse", "report"]

POLICIES = ("contain.hard-link", "contain.model-link-cache")
"""The rules of tier ``policy``: well-run loaders differ on them on purpose, so a profile says which way they are judged."""


DESIGN, EXPERIMENTAL, STABLE = "the design document", "ONNX Runtime 1.28 to 1.30", "ONNX Runtime 1.31 and later"
"""Whose contract a target is held to, in words."""


class Profile(Struct, frozen=True):
    """Rules of ``tiers`` must hold; those of other tiers are reported as notes. ``policies`` maps policy rules to a stance.

    ``contract`` says in words whose demands those of tier spec and stable are. ``platform`` and ``chunking`` are what the target
    declares about itself: whose rules for names it follows, and that it writes a payload in pieces.

    ``negotiates`` is whether the ONNX Runtime that is met asks an execution provider which callbacks it uses.
    """

    name: str
    summary: str
    tiers: tuple[Tier, ...]
    policies: dict[str, Stance] = {}
    platform: Platform = "posix"
    contract: str = DESIGN
    chunking: bool = False
    negotiates: bool = True

    def stance(self, rule: str) -> Stance:
        """How a rule of tier ``policy`` is judged; ``report`` unless the profile says otherwise."""
        return self.policies.get(rule, "report")


PROFILES = {
    p.name: p
    for p in (
        Profile("spec", "What the design document demands; advisory rules are reported as notes.", ("spec",)),
        Profile(
            "ort-1.28",
            "The same: what ONNX Runtime 1.28 to 1.30 demands, where callbacks have experimental names.",
            ("spec",),
            contract=EXPERIMENTAL,
        ),
        Profile(
            "ort-1.31",
            "What ONNX Runtime 1.31 and later demands besides: an EP that cannot use a callback has to be refused.",
            ("spec", "stable"),
            contract=STABLE,
        ),
        Profile(
            "hardened",
            "The demands of the ONNX Runtime that is found, and what a careful production loader does beyond them.",
            ("spec", "hardened"),
        ),
    )
}


def contract_of(ort: str) -> str:
    """The name of the profile that goes with an ONNX Runtime of version ``ort``; ``spec`` for what is none."""
    release = re.match(r"1\.(\d+)\.", ort)
    if release is None:
        return "spec"
    return "ort-1.31" if int(release[1]) >= 31 else "ort-1.28"


def profile(
    name: str | None = None,
    policies: tuple[str, ...] = (),
    platform: Platform = "posix",
    ort: str = "",
    chunking: bool = False,
) -> Profile:
    """The profile ``name`` with policies given as ``rule=stance``, and what the target declares; UsageError for unknown words.

    ``ort`` is the version of the ONNX Runtime that the target meets. Without a name it chooses the profile, and ``hardened``
    includes what its contract demands.
    """
    own = PROFILES[contract_of(ort)]
    chosen = PROFILES.get(name) if name else own
    if chosen is None:
        raise UsageError(f"There is no profile {name!r}; choose one of {', '.join(PROFILES)}.")
    if chosen.name == "hardened":
        chosen = replace(chosen, tiers=(*own.tiers, "hardened"), contract=own.contract)
    return replace(
        chosen,
        policies={**chosen.policies, **stances(policies)},
        platform=platform,
        chunking=chunking,
        negotiates=contract_of(ort) != "ort-1.28",
    )


def stances(policies: tuple[str, ...]) -> dict[str, Stance]:
    """Policies given as ``rule=stance``, taken apart; UsageError for unknown words."""
    found: dict[str, Stance] = {}
    for text in policies:
        rule, _, stance = text.partition("=")
        if rule not in POLICIES or stance not in get_args(Stance):
            raise UsageError(
                f"--policy {text!r}: write RULE=accept, RULE=refuse or RULE=report, with RULE one of {', '.join(POLICIES)}."
            )
        found[rule] = cast(Stance, stance)
    return found
