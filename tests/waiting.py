"""Waiting for a condition, with a deadline."""

import time
from collections.abc import Callable
from typing import Final

PATIENCE_SECONDS: Final = 180.0
"""When a test that waits counts as hanging. It measures nothing: a process may take a minute to start on a busy machine."""


def comes_true(condition: Callable[[], object], *, seconds: float) -> bool:
    """Whether `condition()` becomes true within `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def wait_until(condition: Callable[[], object], *, seconds: float = PATIENCE_SECONDS, pause: float = 0.01) -> None:
    """Return once `condition()` is true, asking every `pause` seconds; fail the test after `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {condition}"
        time.sleep(pause)
