"""Storage of answers that were paid for, so that a payer whose connection broke gets its answer without paying again."""

import threading
import time
from typing import Final, Literal, Protocol

Mode = Literal["off", "optional", "required"]
"""Whether payers may, or must, send an id under which their answer is kept."""

_MOST_BYTES: Final = 64_000_000


class AnswerStore(Protocol):
    """Stores answers, and which payment an id is of, for a while. `add` must be atomic among all callers and processes that share it."""

    def add(self, name: str, value: bytes, *, seconds: int) -> bool:
        """Add a value, at most 1.1 MB; return False if there is one under this name. It may be dropped at any time."""

    def get(self, name: str) -> bytes | None:
        """Return a value; None if there is none."""

    def remove(self, name: str) -> object:
        """Remove a value, if there is one."""


class MemoryAnswers:
    """Answers in the memory of one process, at most `most` bytes of them. The oldest are dropped first."""

    def __init__(self, *, most: int = _MOST_BYTES) -> None:
        self._most = most
        self._lock = threading.Lock()
        # From the oldest to the newest.
        self._found: dict[str, tuple[bytes, float]] = {}
        self._bytes = 0

    def add(self, name: str, value: bytes, *, seconds: int) -> bool:
        """Add a value; return False if there is one, or if it is too long."""
        now = time.monotonic()
        with self._lock:
            known = self._found.get(name)
            if len(value) > self._most or (known and known[1] > now):
                return False
            self._drop(name)
            while self._found and self._bytes + len(value) > self._most:
                self._drop(next(iter(self._found)))
            self._found[name] = (value, now + seconds)
            self._bytes += len(value)
            return True

    def get(self, name: str) -> bytes | None:
        """Return a value; None if there is none."""
        with self._lock:
            value, until = self._found.get(name, (None, 0.0))
            return value if until > time.monotonic() else None

    def remove(self, name: str) -> None:
        """Remove a value, if there is one."""
        with self._lock:
            self._drop(name)

    def _drop(self, name: str) -> None:
        value, _ = self._found.pop(name, (b"", 0.0))
        self._bytes -= len(value)
