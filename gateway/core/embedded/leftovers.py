"""Cleans up after an engine or supervisor that was killed."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from gateway.core.embedded.errors import EnginesError
from gateway.core.embedded.processes import command_line

STOP_SECONDS = 60.0
# A dead child of a killed supervisor answers kill(pid, 0) until it is reaped.
REAP_SECONDS = 2.0
STEP_SECONDS = 0.02


class Engine(Protocol):
    """The facts needed to clean up after an engine."""

    @property
    def pid_file(self) -> Path: ...
    def owns(self, command_line: str) -> bool: ...
    def forget(self) -> None: ...


def clear_leftovers(engine: Engine, stop_signal: signal.Signals) -> None:
    """Stop an orphaned server and drop a pid file that would block a new one.

    The caller holds the lock of the home, so a server that runs here is an orphan. A recycled pid is never signalled. The
    file of a dead server stays: the engine's own check is better, PostgreSQL also looks at the shared memory.
    """
    pid = _pid_in(engine.pid_file)
    if pid is None:
        return
    if engine.owns(command_line(pid)):
        os.kill(pid, stop_signal)
        if not _comes_true(lambda: not engine.owns(command_line(pid)), STOP_SECONDS):
            message = f"process {pid} of an earlier start does not end"
            raise EnginesError(message)
    elif not _comes_true(lambda: not exists(pid), REAP_SECONDS):
        engine.forget()


def exists(pid: int) -> bool:
    """Return whether a process with this id exists, zombies included."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _pid_in(path: Path) -> int | None:
    try:
        return int(path.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return None


def _comes_true(condition: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(STEP_SECONDS)
    return True
