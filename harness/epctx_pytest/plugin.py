"""``pytest --epctx TARGET``: each case is an item, controls are tried before anything else, and the end says what all comes to.

With pytest-xdist the controller tries the controls and sums up; each of its workers makes the target ready for itself.
"""

from __future__ import annotations

import io
import time
from collections.abc import Generator, Iterator, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

import msgspec
import pytest
from msgspec.structs import replace
from rich.console import Console

from epctx.attack import families
from epctx.case import Case, Struct
from epctx.errors import EpctxError
from epctx.oracle import RULES, Verdict
from epctx.oracle.profile import Tier
from epctx.report import terminal
from epctx.report.console import UNBOUNDED
from epctx.report.record import footer
from epctx.run.baseline import Entry
from epctx_pytest import Broken
from epctx_pytest.asked import asked
from epctx_pytest.checker import Checker
from epctx_pytest.outcome import settle

if TYPE_CHECKING:
    from _pytest._code.code import TerminalRepr

ROOT = "epctx"
"""What the ids of all items begin with, before ``::`` and the id of the case."""
TIERS: tuple[Tier, ...] = ("spec", "stable", "hardened", "policy")


class Told(Struct, frozen=True):
    """What the report of an item carries from where it ran to where the run is summed up."""

    verdict: Verdict
    seconds: float


class Plugin:
    """The hooks. Raises pytest.UsageError for whatever is wrong with what is asked for."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        try:
            self.asked = asked(config)
            self.plan = self.asked.plan()
        except EpctxError as error:
            raise pytest.UsageError(f"epctx: {error}") from None
        self.wanted = [word.removeprefix(f"{ROOT}::") for word in config.args if word.startswith(f"{ROOT}::")]
        config.args[:] = [word for word in config.args if not word.startswith(f"{ROOT}::")]  # pytest would look for such files
        for name, what in _markers().items():
            config.addinivalue_line("markers", f"{name}: {what}")
        self.told: dict[str, Told] = {}
        self._checker: Checker | None = None

    def checker(self) -> Checker:
        """The target, made ready when it is first needed. EpctxError if it cannot be."""
        if self._checker is None:
            self._checker = Checker(self.asked.target, self.asked, self.plan)
            self.config.add_cleanup(self._checker.close)
        return self._checker

    def pytest_report_header(self) -> str:
        """The target, at the head of the run."""
        settings = f", settings {self.asked.file}" if self.asked.file else ""
        return f"epctx: {self.asked.target}{settings}"

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Generator[None, object, object]:
        """Try the controls before anything is collected, and only once, whoever runs the items."""
        if not hasattr(self.config, "workerinput") and not self.config.getoption("collectonly"):
            try:
                self.checker().controls(self.plan.every)
            except EpctxError as error:
                raise pytest.UsageError(f"epctx: {error}") from None
        return (yield)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        """Add the items: of all cases, or of those that the command line names."""
        reasons = self.plan.skipped
        cases = [*self.plan.cases, *(case for case in self.plan.every if case.id in reasons)]
        by_id = {case.id: case for case in cases}
        for name in self.wanted:
            if name not in by_id:
                near = get_close_matches(name, by_id, 1)
                raise pytest.UsageError(f"epctx: there is no case {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
        chosen = [by_id[name] for name in self.wanted] if self.wanted else cases
        root = Cases.from_parent(session, name=ROOT, nodeid=ROOT, path=session.path, cases=chosen, plugin=self)
        items.extend(session.genitems(root))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Have the report of an item carry its verdict."""
        report = yield
        if isinstance(item, CaseItem) and report.when == "call" and item.told is not None:
            vars(report)["epctx"] = msgspec.json.encode(item.told).decode()
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the verdict that a report carries."""
        if carried := getattr(report, "epctx", None):
            told = msgspec.json.decode(carried, type=Told)
            self.told[told.verdict.case] = told

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """A run fails, too, for what is known and no longer occurs."""
        if self._sums_up() and self._stale() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """What the cases come to: the conditions, notes, what is stale, and whether the target held."""
        if not self._sums_up():
            return
        cases = {case.id: case for case in self.plan.every}
        results = [(cases[name], told.verdict) for name, told in self.told.items()]
        verdicts = [verdict for _, verdict in results]
        known = self.checker().known
        number = sum(v.fails and not known.new(v) for v in verdicts)
        foot = footer(verdicts, (), sum(told.seconds for told in self.told.values()), known=number, stale=self._stale())
        head = replace(self.checker().header, cases=len(results), skipped={})
        text = io.StringIO()
        console = Console(file=text, width=UNBOUNDED, color_system=None, highlight=False)
        terminal.header(console, head)
        terminal.notes(console, results)
        terminal.baselines(console, head, foot)
        terminal.summary(console, head, foot)
        terminalreporter.section("epctx")
        for line in text.getvalue().splitlines():
            terminalreporter.write_line(line.rstrip())

    def _sums_up(self) -> bool:
        """Whether there is something to sum up, here."""
        return bool(self.told) and not hasattr(self.config, "workerinput")

    def _stale(self) -> tuple[Entry, ...]:
        verdicts = [told.verdict for told in self.told.values()]
        return self.checker().known.stale((case.id for case in self.plan.every), verdicts)


class Cases(pytest.Collector):
    """What all items are in, beside the files with tests."""

    def __init__(self, *, cases: Sequence[Case], plugin: Plugin, **kwargs: object) -> None:
        super().__init__(**kwargs)  # type: ignore[arg-type]  # pytest's own
        self.cases, self.plugin = cases, plugin

    def collect(self) -> Iterator[pytest.Item]:
        """An item for each case; those that the user skips are marked so."""
        for case in self.cases:
            # said as a text, the id has its variant where pytest looks for parameters
            item = CaseItem.from_parent(self, name=case.id, nodeid=f"{ROOT}::{case.id}", case=case, plugin=self.plugin)
            if reason := self.plugin.plan.skipped.get(case.id):
                item.add_marker(pytest.mark.skip(reason=reason))
            yield item


class CaseItem(pytest.Item):
    """A case, as a test."""

    told: Told | None = None

    def __init__(self, *, case: Case, plugin: Plugin, **kwargs: object) -> None:
        super().__init__(**kwargs)  # type: ignore[arg-type]  # pytest's own
        self.case, self.plugin = case, plugin
        self.add_marker("epctx")
        self.add_marker(_marker(case.id.partition("/")[0]))
        for tier in TIERS:
            if any(RULES[rule].tier == tier for rule in case.rules if rule in RULES):
                self.add_marker(_marker(tier))

    def runtest(self) -> None:
        """Run the case, and let what comes of it decide."""
        start = time.monotonic()
        try:
            checker = self.plugin.checker()
        except EpctxError as error:
            raise pytest.fail.Exception(f"epctx: {error}", pytrace=False) from None
        judged = checker.judge(self.case)
        self.told = Told(judged.verdict, time.monotonic() - start)
        settle(checker, judged)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str | TerminalRepr:
        """The report of a case that breaks a rule, as it is."""
        return str(excinfo.value) if isinstance(excinfo.value, Broken) else super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[str, int, str]:
        """Where it is from: nowhere in a file."""
        return str(self.path), 0, self.nodeid


def _markers() -> dict[str, str]:
    """The markers that items have, and what they mean."""
    found = {"epctx": "a case of epctx"}
    found |= {_marker(name): f"a case of the family {name}" for name in families()}
    return found | {_marker(tier): f"a case that aims at a rule of tier {tier}" for tier in TIERS}


def _marker(name: str) -> str:
    return f"epctx_{name.replace('-', '_')}"
