"""Threads that query the database and Valkey for an event loop, so that only the caller waits."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

from django.db import close_old_connections

P = ParamSpec("P")
T = TypeVar("T")


class Desk:
    """A thread with its own connection, which runs questions one after the other."""

    def __init__(self, name: str) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name)

    async def ask(
        self, question: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run the question and return its answer. Raises what it raises."""
        loop = asyncio.get_running_loop()
        call = partial(question, *args, **kwargs)
        return await loop.run_in_executor(self._thread, _with_connection, call)


def _with_connection(call: Callable[[], T]) -> T:
    # There are no requests here, at whose end Django would close broken connections.
    close_old_connections()
    return call()
