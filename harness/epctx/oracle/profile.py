"""Profiles: which rules must hold."""

from __future__ import annotations

from typing import Literal, TypeAlias, cast, get_args

from epctx.case import Platform, Struct
from epctx.errors import UsageError

Tier: TypeAlias = Literal["spec", "stable", "hardened", "policy"]
Stance: TypeAlias = Literal["accept", "refuse", "report"]

POLICIES = ("contain.hard-link", "contain.model-link-cache")
"""The rules of tier ``policy``: well-run loaders differ on them on purpose, so a profile says which way they are judged."""


class Profile(Struct, frozen=True):
    """Rules of ``tiers`` must hold; those of other tiers are reported as notes. ``policies`` maps policy rules to a stance."""

    name: str
    summary: str
    tiers: tuple[Tier, ...]
    policies: dict[str, Stance] = {}
    platform: Platform = "posix"

    def stance(self, rule: str) -> Stance:
        """How a rule of tier ``policy`` is judged; ``report`` unless the profile says otherwise."""
        return self.policies.get(rule, "report")


PROFILES = {
    p.name: p
    for p in (
        Profile("spec", "What the design document demands; advisory rules are reported as notes.", ("spec",)),
        Profile(
            "hardened", "The document's demands and what a careful production loader does beyond them.", ("spec", "hardened")
        ),
    )
}


def profile(name: str, policies: tuple[str, ...] = (), platform: Platform = "posix") -> Profile:
    """The profile ``name`` with policies given as ``rule=stance`` and the target's platform; UsageError for unknown words."""
    if name not in PROFILES:
        raise UsageError(f"There is no profile {name!r}; choose one of {', '.join(PROFILES)}.")
    stances: dict[str, Stance] = {}
    for text in policies:
        rule, _, stance = text.partition("=")
        if rule not in POLICIES or stance not in get_args(Stance):
            raise UsageError(
                f"--policy {text!r}: write RULE=accept, RULE=refuse or RULE=report, with RULE one of {', '.join(POLICIES)}."
            )
        stances[rule] = cast(Stance, stance)
    chosen = PROFILES[name]
    return Profile(chosen.name, chosen.summary, chosen.tiers, {**chosen.policies, **stances}, platform)
