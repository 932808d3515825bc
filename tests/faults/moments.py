"""Catching a process in the middle of its work, by what it asks of a node or of the database."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

from tests.installation import Installation
from tests.nodes.proxy import Answer, Ask, Request, RpcProxy, honest, methods_of
from tests.waiting import PATIENCE_SECONDS, wait_until

CAUGHT_SECONDS = PATIENCE_SECONDS

Moment = Callable[[Installation, str], AbstractContextManager[Callable[[], None]]]
"""Arms a trap for the watcher named. Inside, calling what it gives waits until the trap has it; leaving lets it go."""


class HeldAnswer:
    """Lets the first of a node's answers about `method` wait, and all others pass."""

    def __init__(self, method: str) -> None:
        self.caught = threading.Event()
        self.released = threading.Event()
        self._method = method
        self._claim = threading.Lock()

    def __call__(self, proxy: RpcProxy, request: Request, ask: Ask) -> Answer:
        # Answered before it waits: what arrives late is what was true when it was asked.
        answer = honest(proxy, request, ask)
        if self._method in methods_of(request) and self._claim.acquire(blocking=False):
            self.caught.set()
            self.released.wait(PATIENCE_SECONDS)
        return answer


def answering(method: str) -> Moment:
    """While a node of Base answers a question about `method`."""

    @contextmanager
    def trap(installation: Installation, watcher: str) -> Iterator[Callable[[], None]]:
        held = HeldAnswer(method)
        installation.misbehave(held, urls=2)
        try:
            yield lambda: wait_until(held.caught.is_set, seconds=CAUGHT_SECONDS)
        finally:
            installation.behave()
            held.released.set()

    return trap


def writing(table: str) -> Moment:
    """While its transaction waits to write to a table, with everything before that written and uncommitted.

    Writes are held up only once everything is paid: a watcher that is held up for longer than its lease has lost it.
    """

    @contextmanager
    def trap(installation: Installation, watcher: str) -> Iterator[Callable[[], None]]:
        with ExitStack() as lock:

            def await_capture() -> None:
                lock.enter_context(installation.database.holding_up_writes(table))
                # Or nothing would be left to write if the last payment was read already.
                installation.nodes["base"].mine()
                wait_until(lambda: installation.database.is_held_up(watcher), seconds=CAUGHT_SECONDS)

            yield await_capture

    return trap
