"""Looking at processes from outside."""

import contextlib

import psutil


def descendants(pid: int) -> dict[int, str]:
    """The children of a process, and theirs, by process id with their command lines."""
    found: dict[int, str] = {}
    for child in psutil.Process(pid).children(recursive=True):
        # Some are short-lived.
        with contextlib.suppress(psutil.NoSuchProcess):
            found[child.pid] = " ".join(child.cmdline())
    return found


def alive(pid: int) -> bool:
    """Whether the process runs; a zombie that waits to be reaped does not."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
