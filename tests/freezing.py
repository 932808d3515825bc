"""Stopping processes in the middle of what they do, as a paused machine would."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

from tests.waiting import wait_until


def freeze(pid: int) -> None:
    """Stop a process; return once none of its threads can run.

    On a busy machine that takes a while: the signal is delivered to one thread, and the others go on until that one has its turn.
    """
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: all(state in "TtZX" for state in _states(pid)))


def freeze_group(group: int) -> None:
    """Stop all processes of a group, as `freeze` does."""
    os.killpg(group, signal.SIGSTOP)
    for pid in _members(group):
        freeze(pid)


def _states(pid: int) -> Iterator[str]:
    """The letter of each thread's state, as proc(5) has it; without that file system none."""
    for stat in Path(f"/proc/{pid}/task").glob("*/stat"):
        try:
            yield stat.read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            continue


def _members(group: int) -> Iterator[int]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                is_member = os.getpgid(int(entry.name)) == group
            except ProcessLookupError:
                continue
            if is_member:
                yield int(entry.name)
