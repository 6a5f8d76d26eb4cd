"""The oracle: one decorated function per rule, and ``judge``. It works on a case and an observation, and touches no file."""

from epctx.oracle import (  # noqa: F401  (they register rules)
    callbacks,
    containment,
    files,
    models,
    names,
    ownership,
    plaintext,
    safety,
    status,
    trusted,
)
from epctx.oracle.judge import Finding, Outcome, Result, Verdict, applicable, expectations, judge
from epctx.oracle.ownership import LARGE
from epctx.oracle.profile import POLICIES, PROFILES, Profile, profile
from epctx.oracle.rule import RULES, SEVERITIES, Look, Rule, Severity

__all__ = [
    "LARGE",
    "POLICIES",
    "PROFILES",
    "RULES",
    "SEVERITIES",
    "Finding",
    "Look",
    "Outcome",
    "Profile",
    "Result",
    "Rule",
    "Severity",
    "Verdict",
    "applicable",
    "expectations",
    "judge",
    "profile",
]
