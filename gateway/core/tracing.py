"""Marks the steps of a payment in traces. These functions do nothing until `gateway.tracing` is started.

A payment crosses processes in rows, which have no column for a trace. Instead, the ids of its trace follow from the
checkout's public id, so that each process adds its steps to the same trace.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime

Recorder = Callable[..., AbstractContextManager[None]]
"""Writes a step as a span. It takes what `step` takes."""

_recorders: list[Recorder] = []


def record_with(recorder: Recorder | None) -> None:
    """Write the steps of this process with `recorder`; None stops that."""
    _recorders[:] = [] if recorder is None else [recorder]


def step(
    name: str, subject: str, *, began: datetime | None = None, is_first: bool = False, after: str = ""
) -> AbstractContextManager[None]:
    """Return a context during which a step of `subject` happens.

    `began` is for steps that began before, `is_first` for the step that makes the subject. `after` is the subject of another
    trace that led to this step.
    """
    if not _recorders:
        return nullcontext()
    return _recorders[0](name, subject, began=began, is_first=is_first, after=after)


def mark(name: str, subject: str, *, began: datetime, is_first: bool = False, after: str = "") -> None:
    """Write a step that began at `began` and ends now; see `step`."""
    with step(name, subject, began=began, is_first=is_first, after=after):
        pass
