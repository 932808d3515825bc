"""Starting the processes of an installation from one that has imported the product."""

import os
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.clerks import Clerk

_PAUSE_SECONDS = 0.01


class Child:
    """A process that `Nursery.start` started; it leads a group of its own."""

    def __init__(self, nursery: Clerk, pid: int) -> None:
        self.pid = pid
        self._nursery = nursery
        self._status: int | None = None

    def poll(self) -> int | None:
        """What it ended with, negative for a signal; None while it runs."""
        if self._status is None:
            self._status = self._nursery.ask("poll", pid=self.pid)
        return self._status

    def wait(self, seconds: float) -> None:
        """Return once it has ended. Raises TimeoutError."""
        deadline = time.monotonic() + seconds
        while self.poll() is None:
            if time.monotonic() > deadline:
                raise TimeoutError(self.pid)
            time.sleep(_PAUSE_SECONDS)

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
        return Child(self._clerk, pid)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._clerk.close()
