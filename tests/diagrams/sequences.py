"""Sequence diagrams of flows, and the recording that holds a flow against a run."""

import inspect
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import reduce
from importlib import import_module
from types import CodeType, FrameType
from typing import Any

from tests.diagrams.flows import FLOWS, Flow

_INTRO = (
    "Made by `script/diagrams` from `tests/diagrams/flows.py`. Each arrow names the function that does it;"
    " `tests/diagrams/test_flows.py` runs each payment and fails when the calls come in another order."
)


def function_of(name: str) -> Callable[..., object]:
    """Return the function behind `module:name`, without decorators. Raises ImportError or AttributeError."""
    module, _, path = name.partition(":")
    found: Any = reduce(getattr, path.split("."), import_module(module))
    function: Callable[..., object] = inspect.unwrap(found)
    return function


@contextmanager
def recorded(flow: Flow) -> Iterator[list[str]]:
    """Record the calls of a flow's functions, in this thread and those that start meanwhile."""
    names: dict[CodeType, str] = {function_of(name).__code__: name for name in flow.functions()}
    calls: list[str] = []

    def note(frame: FrameType, event: str, argument: object) -> None:
        del argument
        if event == "call" and (name := names.get(frame.f_code)):
            calls.append(name)

    before = sys.getprofile()
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield calls
    finally:
        sys.setprofile(before)
        threading.setprofile(None)


def first_missing(wanted: Iterable[str], calls: Iterable[str]) -> str:
    """Return the first function that was not called after those before it; empty when all were called in order."""
    rest = iter(calls)
    return next((name for name in wanted if name not in rest), "")


def document() -> str:
    """Return docs/diagrams/payments.md."""
    parts = ["# Three payments", _INTRO]
    for flow in FLOWS:
        parts += [f"## {flow.title}", flow.intro, _drawn(flow)]
    return "\n\n".join(parts) + "\n"


def _drawn(flow: Flow) -> str:
    lines = ["```mermaid", "sequenceDiagram"]
    lines += [f"    participant {name} as {title}" for name, title in flow.participants.items()]
    for step in flow.steps:
        if step.function:
            function_of(step.function)
        by = f"<br/>{step.function}" if step.function else ""
        lines.append(f"    {step.source}->>{step.target}: {step.text}{by}")
    return "\n".join([*lines, "```"])
