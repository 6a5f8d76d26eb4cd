"""The oracle: one decorated function per rule, and ``judge``. It works on a case and an observation, and touches no file."""

from epctx.oracle import (  # noqa: F401  (they register rules)
    callbacks,
    chunking,
    config,
    containment,
    external,
    files,
    models,
    names,
    ownership,
    plaintext,
    safety,
    status,
    support,
    threads,
    trusted,
)
from epctx.oracle.cwe import NAMES as CWE_NAMES
from epctx.oracle.judge import Finding, Outcome, Result, Verdict, applicable, expectations, judge
from epctx.oracle.ownership import LARGE
from epctx.oracle.profile import DESIGN, POLICIES, STABLE, Profile, Scope
from epctx.oracle.profiles import PROFILES, contract_of, profile, stances
from epctx.oracle.rule import RULES, SEVERITIES, Look, Rule, Severity, path_text, report_words

__all__ = [
    "CWE_NAMES",
    "DESIGN",
    "LARGE",
    "POLICIES",
    "PROFILES",
    "RULES",
    "SEVERITIES",
    "STABLE",
    "Finding",
    "Look",
    "Outcome",
    "Profile",
    "Result",
    "Rule",
    "Scope",
    "Severity",
    "Verdict",
    "applicable",
    "contract_of",
    "expectations",
    "judge",
    "path_text",
    "profile",
    "report_words",
    "stances",
]
