"""Tests that share something slow to start stay with one worker."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tree import ROOT

MODULE = """
import os

import pytest

pytestmark = [pytest.mark.xdist_group({group})]

@pytest.mark.parametrize("number", range(6))
def test_who_runs_it(number):
    with open({told!r}, "a") as told:
        told.write(os.environ["PYTEST_XDIST_WORKER"] + "\\n")
"""


def workers(folder: Path, *plugins: str) -> set[str]:
    """Which of two workers had a part in six tests of one group."""
    told = folder / "told"
    (folder / "test_group.py").write_text(MODULE.format(group='"together"', told=str(told)))
    options = ["-q", "-n", "2", "--dist", "loadgroup", "-c", "/dev/null"]
    loaded = ["-p", "xdist", "-p", "no:cacheprovider", *plugins]
    where = ["--rootdir", str(folder), str(folder)]
    subprocess.run(
        [sys.executable, "-m", "pytest", *options, *loaded, *where],
        cwd=ROOT,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    lines = told.read_text().split()
    assert len(lines) == 6
    return set(lines)


@pytest.mark.unmeasured
def test_one_worker_runs_a_group(tmp_path: Path) -> None:
    assert len(workers(tmp_path, "-p", "tests.grouping")) == 1


@pytest.mark.unmeasured
def test_pytest_xdist_alone_takes_a_group_apart(tmp_path: Path) -> None:
    # When this fails, tests.grouping has become needless.
    assert len(workers(tmp_path)) == 2
