"""Starting the processes of an installation from one that has imported the product."""

import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.clerks import Clerk
from tests.waiting import comes_true

_STACKS_SECONDS = 2.0
_MOST_CHARACTERS = 8_000


class Child:
    """A process that `Nursery.start` started; it leads a group of its own."""

    def __init__(self, nursery: Clerk, pid: int, *, name: str, log: Path) -> None:
        self.pid = pid
        self._nursery = nursery
        self._name = name
        self._log = log
        self._status: int | None = None

    def poll(self) -> int | None:
        """What it ended with, negative for a signal; None while it runs."""
        if self._status is None:
            self._status = self._nursery.ask("poll", pid=self.pid)
        return self._status

    def wait(self, seconds: float) -> None:
        """Return once it has ended. Raises TimeoutError, which says where each of its threads is."""
        if not comes_true(lambda: self.poll() is not None, seconds=seconds):
            raise TimeoutError(f"{self._name} still runs: {self._stacks()}")

    def _stacks(self) -> str:
        before = self._log.stat().st_size
        os.kill(self.pid, signal.SIGUSR1)
        comes_true(lambda: self._log.stat().st_size > before, seconds=_STACKS_SECONDS)
        return self._log.read_text(errors="replace")[-_MOST_CHARACTERS:]

    def terminate(self) -> None:
        """Ask it to end; harmless after its end."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGTERM)


class Nursery:
    """The process of `tests.nursery` in an environment. Use it as a context manager; its children end with it."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._clerk = Clerk("tests.nursery", environment)

    def start(self, argv: Sequence[str], *, name: str, log: Path) -> Child:
        """Run what a command line says, whose first word is the interpreter; PostgreSQL knows it by its name."""
        pid = self._clerk.ask("start", argv=list(argv), name=name, log=str(log))
        return Child(self._clerk, pid, name=name, log=log)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._clerk.close()
