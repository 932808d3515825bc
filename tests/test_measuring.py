"""What is left out is not measured, and everything before and after it is."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tree import ROOT

# Line numbers say which of them were measured.
PROGRAM = """
import subprocess, sys, threading
from tests.measuring import unmeasured
def before():
    return 5
def within():
    return 7
def in_a_thread():
    return 9
def after():
    return 11
def in_a_thread_after():
    return 13
def run_in_thread(what):
    thread = threading.Thread(target=what)
    thread.start()
    thread.join()
before()
for _ in range(3):
    with unmeasured():
        within()
        run_in_thread(in_a_thread)
after()
run_in_thread(in_a_thread_after)
"""


def measured(program: str, folder: Path) -> set[int]:
    """The lines that coverage counts when it runs a program."""
    (folder / "program.py").write_text(program)
    coverage = [sys.executable, "-m", "coverage"]
    options = [f"--data-file={folder / 'data'}", "--rcfile=/dev/null"]
    report = "import coverage, sys; data = coverage.CoverageData(sys.argv[1]); data.read(); [file] = data.measured_files(); print(*data.lines(file))"
    run = ["run", *options, f"--include={folder}/*", "program.py"]
    _output(folder, [*coverage, *run])
    told = _output(folder, [sys.executable, "-c", report, str(folder / "data")])
    return set(map(int, told.split()))


def _output(folder: Path, argv: list[str]) -> str:
    return subprocess.run(
        argv, cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.unmeasured
def test_only_what_is_within_is_left_out(tmp_path: Path) -> None:
    returns = {5, 7, 9, 11, 13}
    assert measured(PROGRAM, tmp_path) & returns == {5, 11, 13}


@pytest.mark.unmeasured
def test_without_leaving_out_all_of_it_is_measured(tmp_path: Path) -> None:
    plain = PROGRAM.replace("with unmeasured():", "if True:")
    assert measured(plain, tmp_path) >= {5, 7, 9, 11, 13}
