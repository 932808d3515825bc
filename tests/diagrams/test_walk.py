"""How many modules one checkout passes, from its POST to its delivered webhook: a reader opens so many to follow it."""

import asyncio
import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

import pytest

from accounts.states import Mode
from checkouts.models import Checkout
from checkouts.tasks import attribute_transfers_task
from gateway.server.front import Front
from gateway.server.requests import django_application
from localnet.anvil import Anvil
from localnet.tokens import mint
from tests.contract.client import PREFIX
from tests.factories import make_key, make_merchant, make_wallet
from tests.gateway.server.exchanges import Asked, Exchange, Lines
from tests.tree import APPS, ROOT
from tests.waiting import wait_until
from tests.wallets.factories import read_all
from tests.webhooks.factories import make_endpoint
from tests.webhooks.receiver import receiving
from tests.webhooks.senders import sending
from tests.x402.exact.shop import connect_base
from wallets.chains.registry import open_pool
from wallets.networks import chain_spec
from wallets.selectors import forget
from wallets.watcher_process import open_watcher
from wallets.watchers.passes import ChainWatcher
from webhooks.models import Delivery
from webhooks.states import DeliveryStatus

MOST_MODULES: Final = 95
"""83 on 27 November 2026 (docs/studies/modules.md), 90 a day later with prices in other currencies. A few more are no fault; a dozen are a detour."""


def module_of(code: CodeType) -> str:
    """The product's module of a function; empty for packages, bodies of modules and classes, and the code of others."""
    path = Path(code.co_filename)
    if not code.co_flags & CO_OPTIMIZED or not path.is_relative_to(ROOT) or path.stem == "__init__":
        return ""
    name = path.relative_to(ROOT)
    return name.as_posix() if name.parts[0] in APPS and "migrations" not in name.parts else ""


@contextmanager
def passed() -> Iterator[set[str]]:
    """Collect the modules whose functions are called in this thread and in those that start meanwhile."""
    found: set[str] = set()
    known: dict[CodeType, str] = {}

    def note(frame: FrameType, event: str, argument: object) -> None:
        del argument
        if event == "call":
            if frame.f_code not in known:
                known[frame.f_code] = module_of(frame.f_code)
            found.add(known[frame.f_code])

    before = sys.getprofile()
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(before)
        threading.setprofile(None)
        found.discard("")


def post_checkout(front: Front, key: str) -> Any:
    """Create a checkout of 25 USD, as granian passes the request on."""
    body = b'{"amount": "25.00", "currency": "USD"}'
    headers = {"content-length": str(len(body)), "content-type": "application/json", "authorization": f"Bearer {key}"}
    asked = Asked(Lines(list(headers.items())), path=f"{PREFIX}/checkouts", query_string="", client="10.1.2.3:4000")
    exchange = Exchange([body])

    async def serve() -> None:
        front.__rsgi_init__(asyncio.get_running_loop())
        await front.__rsgi__(asked, exchange)

    asyncio.run(serve())
    assert exchange.status == 201, exchange.body
    return json.loads(exchange.body)


def pay_one(node: Anvil, usdc: str, watcher: ChainWatcher) -> dict[str, set[str]]:
    """Pay a checkout of a new merchant until its webhook was delivered; return the modules of each process."""
    merchant = make_merchant()
    _, key = make_key(merchant, Mode.LIVE)
    make_wallet(merchant, "base")
    forget()
    front = Front(django_application(), threads=2)
    delivered = Delivery.objects.filter(endpoint__merchant=merchant, status=DeliveryStatus.DELIVERED)
    with receiving() as receiver:
        make_endpoint(merchant, receiver.url)
        read_all(watcher)
        with passed() as web:
            made = post_checkout(front, key)
        mint(node, usdc, Checkout.objects.get(public_id=made["id"]).offers["base"]["address"], 25_000_000)
        node.mine(30)
        with passed() as watching:
            read_all(watcher)
        with passed() as attribution:
            attribute_transfers_task()
        with passed() as delivery, sending():
            wait_until(delivered.exists)
    return {"web": web, "watcher": watching, "worker": attribution, "sender": delivery}


@pytest.mark.django_db(transaction=True)
def test_one_checkout_passes_few_modules(base_node: Anvil, settings: Any) -> None:
    usdc = connect_base(settings, base_node)
    settings.CHAIN_SETTINGS |= {"BASE_LARGE_AMOUNT_USD": "0"}
    settings.TRANSFER_CONSUMERS = []
    settings.WEBHOOK_ALLOW_LOOPBACK = True
    spec = chain_spec("base")
    watcher = open_watcher(spec, open_pool(spec), owner="one")
    # The first payment imports modules and reads settings, which no later one does.
    pay_one(base_node, usdc, watcher)
    parts = pay_one(base_node, usdc, watcher)
    watcher.close()
    modules = set().union(*parts.values())
    listed = "\n".join(f"{part}: {len(names)}\n  " + "\n  ".join(sorted(names)) for part, names in parts.items())
    sys.stdout.write(f"{len(modules)} modules\n{listed}\n")
    assert {"checkouts/creation/service.py", "webhooks/delivery/transport.py"} <= modules
    assert len(modules) <= MOST_MODULES, listed
