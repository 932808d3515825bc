"""How long kinds of work take. The demo starts nodes by tests' code, so nothing of pytest is imported here."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Final, ParamSpec, TypeVar

Given = ParamSpec("Given")
Made = TypeVar("Made")
Spent = dict[str, tuple[int, float]]
"""How often a kind of work was done, and the seconds it took in all."""

SPENT: Final[Spent] = {}


def timed(kind: str) -> Callable[[Callable[Given, Made]], Callable[Given, Made]]:
    """Add up the calls of a function under a kind of work, such as "node starts"."""

    def decorate(function: Callable[Given, Made]) -> Callable[Given, Made]:
        @wraps(function)
        def counted(*args: Given.args, **kwargs: Given.kwargs) -> Made:
            with timing(kind):
                return function(*args, **kwargs)

        return counted

    return decorate


@contextmanager
def timing(kind: str) -> Iterator[None]:
    """Add up what a block takes under a kind of work."""
    began = time.monotonic()
    try:
        yield
    finally:
        times, seconds = SPENT.get(kind, (0, 0.0))
        SPENT[kind] = times + 1, seconds + time.monotonic() - began
