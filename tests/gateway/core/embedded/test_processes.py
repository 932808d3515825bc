"""The keeper of child processes."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.core.embedded.processes import LINUX, ChildCommand, Keeper, command_line
from tests.tree import ROOT
from tests.waiting import wait_until

SUPERVISOR = """
import signal, sys
from pathlib import Path
from gateway.core.embedded.processes import ChildCommand, Keeper
child, folder, *signals = sys.argv[1:]
names = dict(zip(("stop_signal", "orphan_signal"), map(signal.Signals.__getitem__, signals)))
argv = [sys.executable, "-c", child]
Keeper([ChildCommand("child", argv, None, Path(folder), {}, **names)], told=print).start()
signal.pause()
"""
LATE = """
import os, signal, sys
from pathlib import Path
from gateway.core.embedded import processes
bind = processes._LIBC.prctl

class Late:
    def prctl(self, *arguments):
        starter = os.getppid()
        os.kill(starter, signal.SIGKILL)
        while os.getppid() == starter:
            pass
        return bind(*arguments)

processes._LIBC = Late()
argv = [sys.executable, "-c", "print('outlived')"]
processes.spawn(processes.ChildCommand("child", argv, None, Path.cwd(), {}))
"""
CHILD = """
import os, signal
signals = [signal.SIGTERM, signal.SIGINT]
signal.pthread_sigmask(signal.SIG_BLOCK, signals)
open("ready", "x").close()
with open("answer", "x") as answer:
    answer.write(signal.sigwait(signals).name)
os.rename("answer", "heard")
"""


def command(folder: Path, code: str, **overrides: object) -> ChildCommand:
    defaults = {"name": "child", "env": {}, "stop_signal": signal.SIGTERM}
    return ChildCommand(
        argv=[sys.executable, "-c", code],
        log=folder / "child.log",
        cwd=folder,
        **{**defaults, **overrides},  # type: ignore[arg-type]
    )


def kept(*commands: ChildCommand) -> tuple[Keeper, list[str]]:
    said: list[str] = []
    keeper = Keeper(commands, told=said.append)
    keeper.start()
    return keeper, said


def test_a_child_that_ends_is_started_again_later_each_time(tmp_path: Path) -> None:
    keeper, said = kept(command(tmp_path, "raise SystemExit(3)"))
    wait_until(lambda: keeper.exits("child") >= 3)
    keeper.stop()
    assert [line.split("; ")[0] for line in said[:1]] == ["child ended (exit status 3)"]
    assert [line.split("again in ")[1][:5] for line in said[:3]] == ["0.1 s", "0.2 s", "0.4 s"]


def test_stop_ends_the_children_and_starts_none_again(tmp_path: Path) -> None:
    keeper, said = kept(command(tmp_path, "import signal; signal.pause()"))
    wait_until(lambda: keeper.pids)
    pid = keeper.pids["child"]
    keeper.stop()
    assert keeper.pids == {}
    assert command_line(pid) == ""
    assert said == []


def test_a_child_in_a_session_of_its_own_does_not_hear_ctrl_c(tmp_path: Path) -> None:
    keeper, _ = kept(command(tmp_path, "import signal; signal.pause()"))
    wait_until(lambda: keeper.pids)
    assert os.getsid(keeper.pids["child"]) != os.getsid(0)
    keeper.stop()


def test_a_program_that_is_missing_is_reported_and_tried_again(tmp_path: Path) -> None:
    missing = command(tmp_path, "")
    argv = [tmp_path / "absent"]
    keeper, said = kept(ChildCommand("gone", argv, missing.log, tmp_path, {}), missing)
    wait_until(lambda: len([s for s in said if s.startswith("gone cannot")]) >= 2)
    keeper.stop()
    assert all(str(tmp_path) in line for line in said if line.startswith("gone"))


@pytest.mark.skipif(not LINUX, reason="only Linux tells a child that its parent died")
@pytest.mark.parametrize("orphan_signal", [None, "SIGTERM"])
def test_a_child_whose_supervisor_is_killed_gets_its_signal_for_that(tmp_path: Path, orphan_signal: str | None) -> None:
    signals = ["SIGINT", *filter(None, [orphan_signal])]
    argv = [sys.executable, "-c", SUPERVISOR, CHILD, str(tmp_path), *signals]
    with subprocess.Popen(argv, cwd=ROOT) as supervisor:
        wait_until((tmp_path / "ready").exists)
        supervisor.kill()
    wait_until((tmp_path / "heard").exists)
    assert (tmp_path / "heard").read_text() == signals[-1]


@pytest.mark.skipif(not LINUX, reason="only Linux tells a child that its parent died")
def test_no_program_is_run_whose_starter_was_killed_while_it_started_it() -> None:
    """Before the kernel was asked to tell of that, it tells of nothing: the program would run on for ever."""
    # All that was started holds this pipe open.
    done = subprocess.run([sys.executable, "-c", LATE], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, "")
