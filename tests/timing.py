"""Pytest plugin: progress in time and per cent, the ten slowest tests, and where a run's time goes.

script/test loads it, and names a file in `FLORIN_TIMINGS_FILE`, which the run then writes. tests/timing.md is one of a quiet run.
"""

import os
import time
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import Any, Final

import pytest
from _pytest.terminal import TerminalReporter

from tests.timed import SPENT, Spent, timing

LINE_SECONDS = 15.0
"""A line of progress comes this often, as long as tests end."""

SLOWEST: Final = 10

_began: Final = time.monotonic()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[object]) -> Generator[None, object, object]:
    """Add up each fixture. One that asks for another while it runs counts that one too."""
    with timing(f"fixture `{fixturedef.argname}`"):
        return (yield)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Add the start of a worker: from the import of this module until its tests are known."""
    if hasattr(session.config, "workeroutput"):
        SPENT["worker starts"] = 1, time.monotonic() - _began


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Tell the process that shows the run what this worker spent."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["spent"] = SPENT
    elif stopwatch := session.config.pluginmanager.get_plugin("stopwatch"):
        stopwatch.add(SPENT)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Follow the run in the process that shows it."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if isinstance(terminal, TerminalReporter) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Stopwatch(terminal), "stopwatch")


class Stopwatch:
    """Prints the progress of a run, and at its end what was slow."""

    def __init__(self, terminal: TerminalReporter) -> None:
        self._terminal = terminal
        self._last_line = time.monotonic()
        self._wanted = 0
        self._seconds: dict[str, float] = defaultdict(float)
        self._ended: set[str] = set()
        self._failed: set[str] = set()
        self._spent: dict[str, list[tuple[int, float]]] = defaultdict(list)

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """Print no letter for a test; the lines of progress say more."""
        if report.skipped:
            return None
        if report.passed:
            return ("passed" if report.when == "call" else "", "", "")
        return ("failed" if report.when == "call" else "error", "", "")

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Learn the number of tests where no workers are used."""
        self._wanted = max(self._wanted, len(session.items))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """Learn the number of tests from a worker."""
        self._wanted = len(ids)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Keep what a worker says it spent."""
        self.add(getattr(node, "workeroutput", {}).get("spent", {}))

    def add(self, spent: Spent) -> None:
        """Keep what a process spent."""
        for kind, times_and_seconds in spent.items():
            self._spent[kind].append(times_and_seconds)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a phase of a test; print a line when the last one is old enough."""
        self._seconds[report.nodeid] += report.duration
        if report.failed:
            self._failed.add(report.nodeid)
            self._terminal.write_line(f"FAILED  {report.nodeid}")
            if crash := getattr(report.longrepr, "reprcrash", None):
                self._terminal.write_line(f"        {crash}")
        if report.when != "teardown":
            return
        self._ended.add(report.nodeid)
        if time.monotonic() - self._last_line >= LINE_SECONDS:
            self._last_line = time.monotonic()
            self._terminal.write_line(self.progress())

    def progress(self) -> str:
        """Such as ` 3:15  41 %  3,450 of 8,412 tests, 0 failed`."""
        ended, wanted = len(self._ended), self._wanted
        minutes, seconds = divmod(round(time.monotonic() - _began), 60)
        share = 100 * ended // wanted if wanted else 0
        return f"{minutes:3}:{seconds:02}  {share:3} %  {ended:,} of {wanted:,} tests, {len(self._failed)} failed"

    def pytest_terminal_summary(self) -> None:
        """Print the slowest tests; write the report if it is wanted."""
        totals = self._seconds
        self._terminal.section(f"the {SLOWEST} slowest tests")
        for name in sorted(totals, key=totals.__getitem__, reverse=True)[:SLOWEST]:
            self._terminal.write_line(f"{totals[name]:6.1f} s  {name}")
        if report := os.environ.get("FLORIN_TIMINGS_FILE"):
            Path(report).write_text(self._report(totals))

    def _report(self, totals: dict[str, float]) -> str:
        folders: dict[str, float] = defaultdict(float)
        for name, seconds in totals.items():
            folders["/".join(name.split("::")[0].split("/")[:2])] += seconds
        kinds = {kind: (sum(n for n, _ in all_), sum(s for _, s in all_)) for kind, all_ in self._spent.items()}
        work = {kind: of for kind, of in kinds.items() if not kind.startswith("fixture")}
        fixtures = {kind: of for kind, of in kinds.items() if kind.startswith("fixture")}
        wall = time.monotonic() - _began
        return "\n\n".join(
            [
                _HEAD.format(
                    tests=len(totals),
                    wall=wall,
                    workers=len(self._spent["worker starts"]) or 1,
                    tested=sum(totals.values()),
                    quick=sum(seconds < 0.1 for seconds in totals.values()),
                    quick_seconds=sum(s for s in totals.values() if s < 0.1),
                    slow=sum(seconds >= 1 for seconds in totals.values()),
                    slow_seconds=sum(s for s in totals.values() if s >= 1),
                ),
                "## By kind of work\n\n" + _table(work, len(work)),
                "## By fixture\n\n" + _table(fixtures, 25),
                "## By folder\n\n" + _seconds(folders, len(folders)),
                "## The slowest tests\n\n" + _seconds(totals, 50),
            ]
        )


_HEAD: Final = """# Where a test run's time goes

Written by a whole `script/test` to var/test/timing.md. Figures are seconds of wall time; two workers spend two seconds in each. Work and
fixtures lie within the tests, so the tables overlap.

{tests:,} tests on {workers} workers in {wall:.0f} s; {tested:.0f} s in the tests themselves. {quick:,} tests took under
0.1 s, {quick_seconds:.0f} s together; {slow:,} took a second or more, {slow_seconds:.0f} s together."""


def _table(spent: dict[str, tuple[int, float]], most: int) -> str:
    rows = sorted(spent.items(), key=lambda item: item[1][1], reverse=True)[:most]
    lines = [f"| {kind} | {times:,} | {seconds:.1f} |" for kind, (times, seconds) in rows]
    return "\n".join(["| what | times | seconds |", "|---|---:|---:|", *lines])


def _seconds(spent: dict[str, float], most: int) -> str:
    rows = sorted(spent.items(), key=lambda item: item[1], reverse=True)[:most]
    lines = [f"| `{name}` | {seconds:.1f} |" for name, seconds in rows]
    return "\n".join(["| where | seconds |", "|---|---:|", *lines]) + "\n"
