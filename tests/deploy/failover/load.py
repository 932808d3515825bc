"""Buyers and shops while machines die: creations that are repeated until accepted, and payments on a local chain."""

import asyncio
import queue
import random
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import count, cycle
from typing import Any, Final

import aiohttp

from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.tokens import token_address, transfer

CHAIN: Final = "base"
UNITS: Final = 10_000_000
AMOUNT: Final = "10.00"
# Of one try. Then the client hangs up and tries again, with the same order.
_TRY_SECONDS: Final = 5.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 1.0
_PAYMENT_PAUSE: Final = 0.4
_REFUSED: Final = range(400, 500)
_PASSING: Final = {HTTPStatus.CONFLICT, HTTPStatus.TOO_MANY_REQUESTS}


@dataclass
class Order:
    """A checkout that a shop wants, and the times of its first try and of the answer that accepted it."""

    ref: str
    began: float
    accepted: float = 0.0
    public_id: str = ""
    tries: int = 0


@dataclass
class Load:
    """Creates `rate` checkouts a second, each by its `order_ref` until it is accepted, and pays some of them."""

    url: str
    keys: Sequence[str]
    node: Anvil
    rate: float
    orders: list[Order] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    paid: list[str] = field(default_factory=list)
    _payable: queue.SimpleQueue[tuple[str, str]] = field(default_factory=queue.SimpleQueue)
    _stop: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def start(self) -> None:
        """Start the shops and the buyers."""
        for work in (lambda: asyncio.run(self._create()), self._pay):
            thread = threading.Thread(target=work)
            thread.start()
            self._threads.append(thread)

    def finish(self) -> None:
        """Begin nothing more, and return once each checkout that was begun is accepted."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    @property
    def accepted(self) -> int:
        """How many checkouts were accepted so far."""
        return sum(1 for order in self.orders if order.accepted)

    def accepted_since(self, moment: float) -> bool:
        """Whether a checkout was accepted that was first asked for after a moment."""
        return any(order.accepted for order in self.orders if order.began > moment)

    async def _create(self) -> None:
        limit = aiohttp.ClientTimeout(total=_TRY_SECONDS)
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(timeout=limit, connector=connector) as session, asyncio.TaskGroup() as tasks:
            keys: Iterator[str] = cycle(self.keys)
            began = time.time()
            for number in count():
                if self._stop.is_set():
                    break
                order = Order(f"order-{number}", time.time())
                self.orders.append(order)
                tasks.create_task(self._until_accepted(session, next(keys), order))
                # Whatever happens to the others, the next one comes at its time.
                due = began + (number + 1) / self.rate
                await asyncio.sleep(max(0.0, due - time.time()))

    async def _until_accepted(self, session: aiohttp.ClientSession, key: str, order: Order) -> None:
        pause = _FIRST_PAUSE
        while True:
            order.tries += 1
            made = await self._try(session, key, order)
            if made is not None:
                break
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(2 * pause, _LONGEST_PAUSE)
        if not made:
            return
        order.accepted, order.public_id = time.time(), made["id"]
        [option] = (one for one in made["available_chains"] if one["chain"] == CHAIN)
        self._payable.put((made["id"], option["address"]))

    async def _try(self, session: aiohttp.ClientSession, key: str, order: Order) -> dict[str, Any] | None:
        """Ask once; return the checkout, nothing after a failure that may pass, and an empty one after a refusal."""
        body = {"amount": AMOUNT, "currency": "USD", "order_ref": order.ref}
        headers = {"Authorization": f"Bearer {key}"}
        url = f"{self.url}/api/v1/checkouts"
        try:
            async with session.post(url, json=body, headers=headers) as answer:
                if answer.status in {HTTPStatus.OK, HTTPStatus.CREATED}:
                    made: dict[str, Any] = await answer.json()
                    return made
                if answer.status in _REFUSED and answer.status not in _PASSING:
                    self.refusals.append(f"{answer.status}: {await answer.text()}")
                    return {}
        except (aiohttp.ClientError, TimeoutError, OSError):
            return None
        return None

    def _pay(self) -> None:
        usdc, buyer = token_address("USDC"), payer(self.node)
        while not self._stop.wait(_PAYMENT_PAUSE):
            newest = None
            while not self._payable.empty():
                newest = self._payable.get()
            if newest is not None:
                public_id, address = newest
                transfer(self.node, buyer, usdc, address, UNITS)
                self.paid.append(public_id)
