"""Looking at processes from outside."""

import contextlib
from collections.abc import Iterable

import psutil
from psutil import Process


def descendants(pid: int) -> dict[Process, str]:
    """The children of a process, and theirs, with their command lines."""
    found: dict[Process, str] = {}
    for child in Process(pid).children(recursive=True):
        # Some are short-lived.
        with contextlib.suppress(psutil.NoSuchProcess):
            found[child] = " ".join(child.cmdline())
    return found


def alive(process: Process) -> bool:
    """Whether the process runs, and not another one with its number; a zombie that waits to be reaped does not."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


class Gone:
    """Whether processes are gone, as a condition to wait for; says which are not."""

    def __init__(self, processes: Iterable[Process]) -> None:
        self._left = list(processes)

    def __call__(self) -> bool:
        self._left = [one for one in self._left if alive(one)]
        return not self._left

    def __repr__(self) -> str:
        return "still there: " + "; ".join(map(_told, self._left))


def _told(process: Process) -> str:
    try:
        return f"{process.pid} ({process.status()}, child of {process.ppid()}): {' '.join(process.cmdline())[:200]}"
    except psutil.NoSuchProcess:
        return f"{process.pid}: just ended"
