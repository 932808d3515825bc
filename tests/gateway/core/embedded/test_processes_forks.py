"""A child is being started while another thread forks, as a pool of workers does beside a keeper."""

import subprocess
import sys

import pytest

from tests.tree import ROOT

START_AND_FORK = """
import os, signal, subprocess, sys, threading
from pathlib import Path
from gateway.core.embedded import processes
from tests.waiting import comes_true, wait_until

is_locked, seconds = sys.argv[1] == "locked", float(sys.argv[2])
if not is_locked:
    processes._SPAWNING = threading.RLock()

# The pipe is open, and what is started is not there yet.
begun, let_go = threading.Event(), threading.Event()
fork_exec = subprocess._fork_exec

def wait_and_fork_exec(*arguments):
    begun.set()
    let_go.wait()
    return fork_exec(*arguments)

subprocess._fork_exec = wait_and_fork_exec
sleeper = [sys.executable, "-c", "import signal; signal.pause()"]
command = processes.ChildCommand("child", sleeper, None, Path.cwd(), os.environ)
started, forked = [], []

def fork():
    pid = os.fork()
    if pid == 0:
        signal.pause()
    forked.append(pid)

starting = threading.Thread(target=lambda: started.append(processes.spawn(command)))
forking = threading.Thread(target=fork)
starting.start()
begun.wait()
forking.start()
if not is_locked:
    wait_until(lambda: forked)
let_go.set()
is_held_up = not comes_true(lambda: started, seconds=seconds)
forking.join()
os.kill(forked[0], signal.SIGKILL)
starting.join()
started[0].kill()
print("held up" if is_held_up else "started")
"""


def start_and_fork(lock: str, *, seconds: float) -> str:
    """Say whether a start that another thread forked beside took longer than `seconds` from then on."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", START_AND_FORK, lock, str(seconds)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()[-1]


def test_a_fork_waits_for_what_is_being_started() -> None:
    assert start_and_fork("locked", seconds=60) == "started"


@pytest.mark.slow
def test_without_the_lock_the_fork_would_hold_the_start_up() -> None:
    """The negative control of the test above: for as long as what was forked lives."""
    assert start_and_fork("unlocked", seconds=2) == "held up"
