"""The profiles, and which of them goes with a target."""

from __future__ import annotations

import re
from typing import cast, get_args

from msgspec.structs import replace

from epctx.case import Platform
from epctx.errors import UsageError
from epctx.oracle.loaders import LOADERS
from epctx.oracle.profile import EXPERIMENTAL, POLICIES, STABLE, Profile, Stance

GENERAL = (
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
        "The demands of the profile that goes with the target, and what a careful production loader does beyond them.",
        ("spec", "hardened"),
    ),
    Profile(
        "effects",
        "What the design document demands of the files that are touched and the bytes that are given, and nothing else.",
        ("spec",),
        scope="effects",
    ),
)
"""The profiles that are of no loader in particular."""

PROFILES = {p.name: p for p in (*GENERAL, *LOADERS)}


def contract_of(ort: str) -> str:
    """The name of the profile that goes with an ONNX Runtime of version ``ort``; ``spec`` for what is none."""
    release = re.match(r"1\.(\d+)\.", ort)
    if release is None:
        return "spec"
    return "ort-1.31" if int(release[1]) >= 31 else "ort-1.28"


def policy_of(loader: str, met: str) -> str:
    """The name of the profile that goes with a loader of which the release is met that ``met`` names ("onnx 1.21.0"): what that
    publishes about itself, or ``effects``."""
    found = re.search(r"\b(\d+)\.(\d+)(?:\.(\d+))?", met)
    release = tuple(int(part or 0) for part in found.groups()) if found else (0, 0, 0)
    own = [p for p in LOADERS if p.loader == loader and p.since <= release]
    return max(own, key=lambda p: p.since).name if own else "effects"


def profile(
    name: str | None = None,
    policies: tuple[str, ...] = (),
    platform: Platform = "posix",
    ort: str = "",
    chunking: bool = False,
    *,
    loader: str | None = None,
    met: str = "",
) -> Profile:
    """The profile ``name`` with policies given as ``rule=stance``, and what the target declares; UsageError for unknown words.

    Without a name the target chooses: by the version ``ort`` of the ONNX Runtime that it meets, or, for a ``loader`` that was not
    written against the design document, by what is ``met`` of it. Such a one is judged by its effects, whatever the profile;
    ``hardened`` includes what goes with the target by itself.
    """
    own = PROFILES[contract_of(ort) if loader is None else policy_of(loader, met)]
    chosen = PROFILES.get(name) if name else own
    if chosen is None:
        raise UsageError(f"There is no profile {name!r}; choose one of {', '.join(PROFILES)}.")
    if chosen.name == "hardened":
        chosen = replace(own, name="hardened", tiers=(*own.tiers, "hardened"))
    return replace(
        chosen,
        policies={**chosen.policies, **stances(policies)},
        platform=platform,
        chunking=chunking,
        negotiates=contract_of(ort) != "ort-1.28",
        scope=chosen.scope if loader is None else "effects",
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
