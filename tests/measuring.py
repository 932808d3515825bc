"""Leaving tests out of what is measured of the product's lines."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

# Where coverage tells the processes that it starts to measure themselves (`patch = ["subprocess"]`).
_TOLD = "COVERAGE_PROCESS_CONFIG"


@contextmanager
def unmeasured() -> Iterator[None]:
    """Measure nothing within the block, in this process and in those that begin in it."""
    module = sys.modules.get("coverage")
    running = module.Coverage.current() if module else None
    if running is None:
        yield
        return
    told = os.environ.pop(_TOLD, None)
    running.stop()
    try:
        yield
    finally:
        running.start()
        if told is not None:
            os.environ[_TOLD] = told
