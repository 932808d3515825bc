"""Leaving tests out of what is measured of the product's lines."""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# Where coverage tells the processes that it starts to measure themselves (`patch = ["subprocess"]`).
_TOLD = "COVERAGE_PROCESS_CONFIG"


@contextmanager
def unmeasured() -> Iterator[None]:
    """Measure nothing within the block, in its thread, in those that begin in it and in processes that do."""
    module = sys.modules.get("coverage")
    if module is None or module.Coverage.current() is None:
        yield
        return
    # Not coverage's own stop and start, which look at every imported module each time: a tenth of a second.
    tracer, of_threads = sys.gettrace(), threading.gettrace()
    told = os.environ.pop(_TOLD, None)
    sys.settrace(None)
    threading.settrace(None)
    try:
        yield
    finally:
        threading.settrace(of_threads)
        sys.settrace(tracer)
        if told is not None:
            os.environ[_TOLD] = told
