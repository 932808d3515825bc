"""A run says how far it is in time and per cent, and what was slow at its end."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tree import ROOT

MODULE = """
import pytest

@pytest.fixture
def dear():
    return 1

@pytest.mark.parametrize("number", range(12))
def test_one(number, dear):
    assert number != 7
"""
PROGRESS = re.compile(r"^ *\d+:\d\d +(\d+) % +(\d+) of 12 tests, (\d) failed$", re.MULTILINE)


def run(folder: Path, *options: str) -> str:
    """What a run of twelve tests prints, one of which fails; a line of progress comes after each."""
    (folder / "test_some.py").write_text(MODULE)
    code = "import sys, pytest; from tests import timing; timing.LINE_SECONDS = 0; sys.exit(pytest.main(sys.argv[1:], [timing]))"
    alone = ["-c", "/dev/null", "-p", "no:cacheprovider", "--rootdir", str(folder)]
    report = folder / "timing.md"
    done = subprocess.run(
        [sys.executable, "-c", code, *alone, *options, str(folder)],
        cwd=ROOT,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "FLORIN_TIMINGS_FILE": str(report)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


@pytest.mark.unmeasured
@pytest.mark.parametrize("options", [(), ("-p", "xdist", "-n", "2")])
def test_progress_is_told_in_time_and_per_cent(tmp_path: Path, options: tuple[str, ...]) -> None:
    told = run(tmp_path, *options)
    shares = [int(share) for share, _, _ in PROGRESS.findall(told)]
    assert shares == sorted(shares)
    assert shares[-1] == 100
    assert PROGRESS.findall(told)[-1][2] == "1"
    assert told.count("FAILED  ") == 1
    # Why it failed is told at once, too, not only when the run has ended.
    assert re.search(r"FAILED  .*\n +\S*test_some\.py:\d+: assert", told)


@pytest.mark.unmeasured
def test_the_ten_slowest_are_listed_and_the_report_says_where_the_time_went(tmp_path: Path) -> None:
    told = run(tmp_path)
    slowest = told.partition("the 10 slowest tests")[2]
    assert len(re.findall(r"^ +[\d.]+ s  \S+::test_one", slowest, re.MULTILINE)) == 10
    report = (tmp_path / "timing.md").read_text()
    assert "12 tests on 1 workers" in report
    assert "| fixture `dear` | 12 |" in report
