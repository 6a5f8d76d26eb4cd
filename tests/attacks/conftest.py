"""All bundled cases, built once."""

from __future__ import annotations

import pytest

from epctx.case import Case
from epctx_attacks import bundled


@pytest.fixture(scope="session")
def cases() -> list[Case]:
    return [case for _, family in sorted(bundled().items()) for case in family.cases()]
