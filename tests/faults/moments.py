"""Catching a process in the middle of its work, by what it asks of a node or of the database."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Final

from tests.installation import Installation
from tests.nodes.proxy import Answer, Ask, Request, RpcProxy, honest, methods_of
from tests.waiting import wait_until

CAUGHT_SECONDS = 30.0

Moment = Callable[[Installation, str], AbstractContextManager[Callable[[], None]]]
"""Arms a trap for the watcher named. Inside, calling what it gives waits until the trap has it; leaving lets it go."""


_GAS_PRICE: Final = "eth_maxPriorityFeePerGas"


class HeldAnswer:
    """Lets one of a node's answers about `method` wait, the `turn`-th of a pass, and all others pass.

    A pass of a watcher asks one node for its newest block, and then, of a payment, for logs and a receipt, twice. On a busy machine a
    pass may die between the two receipts: its node rests, and the second receipt that any node gives is the first one of another
    pass, whose watcher has more to ask once it wakes up. So turns are counted at each node, from its newest question for the newest
    block: whatever a pass that died left of its count is forgotten.
    """

    def __init__(self, method: str, turn: int) -> None:
        self.caught = threading.Event()
        self.released = threading.Event()
        self._method = method
        self._turn = turn
        self._counts: dict[RpcProxy, int] = {}
        self._is_held = False
        self._counting = threading.Lock()

    def __call__(self, proxy: RpcProxy, request: Request, ask: Ask) -> Answer:
        # Answered before it waits: what arrives late is what was true when it was asked.
        answer = honest(proxy, request, ask)
        if self._is_wanted(proxy, request):
            self.caught.set()
            self.released.wait(60)
        return answer

    def _is_wanted(self, proxy: RpcProxy, request: Request) -> bool:
        with self._counting:
            if begins_a_pass(request):
                self._counts[proxy] = 0
            if self._method in methods_of(request):
                self._counts[proxy] = self._counts.get(proxy, 0) + 1
                if self._counts[proxy] >= self._turn and not self._is_held:
                    self._is_held = True
                    return True
        return False


def begins_a_pass(request: Request) -> bool:
    """Whether a watcher asks for the newest block, as its passes begin. What sends transactions asks for a gas price with it."""
    calls = request if isinstance(request, list) else [request]
    newest = any(one["method"] == "eth_getBlockByNumber" and one["params"][:1] == ["latest"] for one in calls)
    return newest and _GAS_PRICE not in methods_of(request)


def answering(method: str, *, turn: int = 1) -> Moment:
    """While a node of Base answers a question about `method`, for the first time in a pass or later."""

    @contextmanager
    def trap(installation: Installation, watcher: str) -> Iterator[Callable[[], None]]:
        held = HeldAnswer(method, turn)
        installation.misbehave(held, urls=2)
        try:
            yield lambda: wait_until(held.caught.is_set, seconds=CAUGHT_SECONDS)
        finally:
            installation.behave()
            held.released.set()

    return trap


LAST_QUESTION: Final = answering("eth_getTransactionReceipt", turn=2)
"""While a node of Base answers the last question of a pass that found a payment, and what was sent on of it.

Both receipts are of one pass at one node (see `HeldAnswer`), so a watcher that is frozen there has nothing more to ask, and writes next.
"""


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
