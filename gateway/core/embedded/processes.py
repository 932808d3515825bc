"""Child processes: start, recognise, restart and stop them."""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gateway.core.embedded.account import EngineAccount, EnginesError

LINUX = sys.platform.startswith("linux")
PR_SET_PDEATHSIG = 1  # prctl(2)
# Loaded before any fork: a child under another uid may be unable to import.
_LIBC = ctypes.CDLL(None) if LINUX else None

FIRST_DELAY, LONGEST_DELAY = 0.1, 30.0
"""Seconds between an exit and the next start; the delay doubles each time."""
STABLE_SECONDS = 60.0
"""A child that ran this long starts again with the first delay."""
CHECK_SECONDS = 0.05
ASK_AGAIN_SECONDS = 5.0
STOP_SECONDS = 30.0
"""Seconds that all children of one keeper together get to end cleanly."""


def _do_nothing() -> None:
    """Do nothing: the default of `ChildCommand.prepare`."""


@dataclass(frozen=True)
class ChildCommand:
    """How to start one child, and the signal that ends it cleanly.

    Without a `log` it writes where its parent does. `prepare` runs before every start, with no earlier instance alive.
    `orphan_signal` is sent when its parent is killed; it defaults to `stop_signal`.
    """

    name: str
    argv: Sequence[str | Path]
    log: Path | None
    cwd: Path
    env: Mapping[str, str] = field(repr=False)
    stop_signal: signal.Signals = signal.SIGTERM
    orphan_signal: signal.Signals | None = None
    account: EngineAccount | None = None
    prepare: Callable[[], None] = _do_nothing


def run_as(account: EngineAccount | None) -> dict[str, Any]:
    """Return the keyword arguments of `subprocess` that switch to `account`."""
    if account is None or not account.switches:
        return {"umask": 0o077}
    return {"user": account.uid, "group": account.gid, "extra_groups": [], "umask": 0o077}


def spawn(command: ChildCommand) -> subprocess.Popen[bytes]:
    """Start `command` in its own session; it ends with this thread.

    The session keeps Ctrl-C in the terminal from reaching any process but the supervisor. On
    Linux the kernel sends `orphan_signal` when the starting thread ends, kill -9
    included, and no program is run whose starter is gone already; elsewhere the next supervisor finds the orphan.
    """
    with ExitStack() as files, _SPAWNING:
        log = None
        if command.log is not None:
            log = files.enter_context(open(command.log, "ab", opener=_open_private))
        process: subprocess.Popen[bytes] = subprocess.Popen(  # noqa: S603 - no shell
            [str(argument) for argument in command.argv],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=command.cwd,
            env=dict(command.env),
            start_new_session=True,
            preexec_fn=_die_with_parent(command.orphan_signal or command.stop_signal),
            **run_as(command.account),
        )
    return process


# Celery's pool may fork in the middle of a start. That process would keep open the pipe that reports the start's success,
# and would block the start for as long as it lives.
_SPAWNING = threading.RLock()
os.register_at_fork(before=_SPAWNING.acquire, after_in_parent=_SPAWNING.release, after_in_child=_SPAWNING.release)


def _open_private(path: str, flags: int) -> int:
    # Private: a database's log quotes rows.
    return os.open(path, flags, 0o600)


def _die_with_parent(signum: signal.Signals) -> Callable[[], None] | None:
    if _LIBC is None:
        return None
    prctl, starter = _LIBC.prctl, os.getpid()

    # subprocess runs this after the change of uid, which clears the setting.
    def bind() -> None:
        prctl(PR_SET_PDEATHSIG, int(signum))
        # A death before that call was not told: without this look, the program would outlive its starter.
        if os.getppid() != starter:
            os._exit(1)

    return bind


def command_line(pid: int) -> str:
    """Return the command line of `pid`; empty when there is none (gone, or a zombie)."""
    if LINUX:
        try:
            raw = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            return ""
        return raw.replace(b"\0", b" ").decode(errors="replace")
    ps = ["/bin/ps", "-o", "command=", "-p", str(pid)]
    found = subprocess.run(ps, capture_output=True, check=False)  # noqa: S603
    return found.stdout.decode(errors="replace")


class Keeper:
    """Runs commands and restarts them when they end, with growing delays.

    One thread starts and watches the children, because the kernel ties their lives to the thread that started them.
    """

    def __init__(self, commands: Sequence[ChildCommand], *, told: Callable[[str], None]) -> None:
        self._children = [_Child(command) for command in commands]
        self._told = told
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="florin-keeper", daemon=True)

    @property
    def pids(self) -> dict[str, int]:
        """Return the process ids of the children that are alive."""
        return {child.command.name: child.process.pid for child in self._children if child.process is not None}

    def exits(self, name: str) -> int:
        """Return how often the named child ended without being stopped."""
        return sum(c.exits for c in self._children if c.command.name == name)

    def start(self) -> None:
        """Begin; returns at once."""
        self._thread.start()

    def stop(self) -> None:
        """End all children, the last started first, and wait for them."""
        self._stopping.set()
        self._thread.join()

    def _keep(self) -> None:
        pause = 0.0
        while not self._stopping.wait(pause):
            pause = CHECK_SECONDS
            for child in self._children:
                # A start takes a moment; a stop may have been requested meanwhile.
                if not self._stopping.is_set():
                    self._tend(child)
        for child in reversed(self._children):
            child.end()
        deadline = time.monotonic() + STOP_SECONDS
        for child in self._children:
            if not child.reap(deadline):
                self._told(f"{child.command.name} did not end and was killed.")

    def _tend(self, child: "_Child") -> None:
        try:
            if news := child.tend(time.monotonic()):
                self._told(news)
        except (OSError, EnginesError) as error:
            child.postpone(time.monotonic())
            self._told(f"{child.command.name} cannot be started: {error}")


def _end_group(pid: int) -> None:
    """End the processes that a dead child started: a killed web server's workers go on serving and hold its port."""
    # Usually none are left. The child had its own session, so the group contains only its processes.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


class _Child:
    def __init__(self, command: ChildCommand) -> None:
        self.command = command
        self.process: subprocess.Popen[bytes] | None = None
        self.exits = 0
        self._due = 0.0
        self._started = 0.0
        self._delay = FIRST_DELAY

    def tend(self, now: float) -> str:
        """Start or reap the process as needed; return a line for the operator."""
        if self.process is None:
            if now >= self._due:
                self.command.prepare()
                self.process = spawn(self.command)
                self._started = now
            return ""
        status = self.process.poll()
        if status is None:
            return ""
        _end_group(self.process.pid)
        self.process = None
        self.exits += 1
        delay = self.postpone(now)
        seen = f"; see {self.command.log}" if self.command.log else ""
        return f"{self.command.name} ended ({_spoken(status)}); again in {delay:.1f} s{seen}"

    def postpone(self, now: float) -> float:
        """Set the time of the next start; return the delay in seconds."""
        if now - self._started > STABLE_SECONDS:
            self._delay = FIRST_DELAY
        delay = self._delay
        self._due = now + delay
        self._delay = min(delay * 2, LONGEST_DELAY)
        return delay

    def end(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(self.command.stop_signal)

    def reap(self, deadline: float) -> bool:
        """Wait for the process to end; kill it when it does not, and return False."""
        process, self.process = self.process, None
        if process is None:
            return True
        while (left := deadline - time.monotonic()) > 0:
            try:
                process.wait(min(left, ASK_AGAIN_SECONDS))
            except subprocess.TimeoutExpired:
                # A program that was still starting may have missed the first signal.
                process.send_signal(self.command.stop_signal)
            else:
                return True
        process.kill()
        process.wait()
        return False


def _spoken(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    return f"signal {-status}"
