"""What all tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.own_process import run_in_own_process


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker of this file."""
    config.addinivalue_line("markers", "own_process: runs in a forked process, which it gives away (to a namespace, a user)")


@pytest.hookimpl(hookwrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Iterator[None]:
    """Run tests marked ``own_process`` in one."""
    if pyfuncitem.get_closest_marker("own_process") is not None:
        function = pyfuncitem.obj
        pyfuncitem.obj = lambda **arguments: run_in_own_process(lambda: function(**arguments))
    yield
