"""What a profile is: which rules must hold, and by what a target is judged."""

from __future__ import annotations

from typing import Literal, TypeAlias

from epctx.case import Platform, Struct

Tier: TypeAlias = Literal["spec", "stable", "hardened", "policy"]
Stance: TypeAlias = Literal["accept", "refuse", "report"]
Scope: TypeAlias = Literal["contract", "effects"]

POLICIES = ("contain.hard-link", "contain.model-link-cache")
"""The rules of tier ``policy``: well-run loaders differ on them on purpose, so a profile says which way they are judged."""

DESIGN, EXPERIMENTAL, STABLE = "the design document", "ONNX Runtime 1.28 to 1.30", "ONNX Runtime 1.31 and later"
"""Whose contract a target is held to, in words."""

CONTRACT = frozenset(
    (
        *("cb", "chunk", "config", "mem", "out", "own", "plain", "status", "support", "thread", "trusted"),
        *("name.fallback-empty", "name.fallback-unused", "name.logical-not-a-path", "name.opaque-to-callback", "name.log-safe"),
        "safe.error-has-text",
    )
)
"""The rules, or groups of them, that speak of the design document's own interface: its codes and texts, callbacks, handles,
ownership and memory. All others speak of *effects*: which files a call touches, which bytes it gives, that it comes back."""


class Profile(Struct, frozen=True):
    """Rules of ``tiers`` must hold; those of other tiers are reported as notes. ``policies`` maps policy rules to a stance.

    ``contract`` says in words whose demands those of tier spec and stable are. ``platform`` and ``chunking`` are what the target
    declares about itself: whose rules for names it follows, and that it writes a payload in pieces.

    ``negotiates`` is whether the ONNX Runtime that is met asks an execution provider which callbacks it uses.

    ``scope`` is what a target is judged by: the whole ``contract``, or its ``effects`` alone, where it was not written against
    the design document. What such a loader publishes about itself makes a profile, too: ``loader`` names it, ``since`` its first
    release of which that is true, ``sources`` where it is published, and ``departures`` the rules that it does not mean to keep,
    each with what it does instead. Those are reported as notes.
    """

    name: str
    summary: str
    tiers: tuple[Tier, ...]
    policies: dict[str, Stance] = {}
    platform: Platform = "posix"
    contract: str = DESIGN
    chunking: bool = False
    negotiates: bool = True
    scope: Scope = "contract"
    loader: str = ""
    since: tuple[int, int, int] = (0, 0, 0)
    from_memory: Literal["", "working directory"] = ""
    """The directory that a model from memory has by what the loader publishes."""
    departures: dict[str, str] = {}
    sources: tuple[str, ...] = ()

    def stance(self, rule: str) -> Stance:
        """How a rule of tier ``policy`` is judged; ``report`` unless the profile says otherwise."""
        return self.policies.get(rule, "report")


def in_scope(rule: str, scope: Scope) -> bool:
    """Whether a target is judged by a rule."""
    return scope == "contract" or (rule not in CONTRACT and rule.partition(".")[0] not in CONTRACT)
