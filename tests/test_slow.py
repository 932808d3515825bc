"""A test of the standard run that takes over a second fails, and a busy or slow host fails none."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.slow import Moment
from tests.tree import ROOT

MODULE = """
import time

def test_computing(): _compute(0.5)
def test_listed(): _compute(0.5)
def test_quick(): pass

def _compute(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass
"""
BEGIN = Moment(wall=100, processor=50, held_up=7)


def run(folder: Path, fails: str) -> str:
    """What a run of two slow tests and a quick one prints, one of the slow ones being listed."""
    (folder / "test_some.py").write_text(MODULE)
    (folder / "slow.toml").write_text('"test_some.py::test_listed" = "It must, for a reason."')
    code = (
        f"import sys, pathlib, pytest; from tests import slow; slow.FILE = pathlib.Path({str(folder / 'slow.toml')!r})"
    )
    # A tenth of the limit, so that nobody waits.
    code += "; slow.LIMIT_SECONDS = 0.1; sys.exit(pytest.main(sys.argv[1:], [slow]))"
    alone = ["-c", "/dev/null", "-p", "no:cacheprovider", "-rf", "--rootdir", str(folder), str(folder)]
    return subprocess.run(
        [sys.executable, "-c", code, *alone],
        cwd=ROOT,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "FLORIN_SLOW_FAILS": fails},
        capture_output=True,
        text=True,
        check=False,
    ).stdout


@pytest.mark.unmeasured
def test_a_planted_slow_test_fails_and_a_listed_one_passes(tmp_path: Path) -> None:
    told = run(tmp_path, "1")
    assert "1 failed, 2 passed" in told
    assert "test_some.py::test_computing took more than" in told


@pytest.mark.parametrize(
    ("seconds", "computed", "held_up", "slowness", "is_slow"),
    [
        (1.4, 1.4, 0, 1, False),
        (1.6, 1.6, 0, 1, True),
        # It waited on a quiet host, and on a busy one.
        (1.6, 0, 0, 1, True),
        (1.6, 0, 1.5, 1, False),
        # It computed while others did, and on a host half as fast.
        (9, 1.6, 9, 1, True),
        (9, 1.4, 9, 1, False),
        (3, 3, 3, 2, False),
        (3.2, 3.2, 3.2, 2, True),
        # A fast host forgives no less.
        (1.4, 1.4, 0, 0.5, False),
        # A child that it ended had computed before.
        (0.1, 60, 0, 1, False),
    ],
)
def test_a_busy_or_slow_host_makes_the_rule_milder(
    seconds: float, computed: float, held_up: float, slowness: float, is_slow: bool
) -> None:
    end = Moment(BEGIN.wall + seconds, BEGIN.processor + computed, BEGIN.held_up + held_up)
    assert (end.seconds_since(BEGIN, slowness=slowness) > 1.0) == is_slow
