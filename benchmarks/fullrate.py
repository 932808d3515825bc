"""An hour of a thousand merchants with ten thousand checkouts a day each: what is created, paid, credited and told, and what it takes.

All processes of an installation run on this machine, beside a local chain, the shops and the buyers. A block every two
seconds has the payments of its time; they share a transaction, as a node makes one much faster than many.
`FLORIN_FULL_RATE_SECONDS` is another time than an hour, to try this out.
"""

import json
import os
import resource
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import quantiles
from typing import Any, Final
from urllib.request import urlopen

import psutil

from benchmarks import stack
from benchmarks.memory import named, services
from benchmarks.report import Claim, Report, Series
from demo.nodes.factory import prepare_chain
from gateway.processes.stack import comes_true
from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.tokens import deploy_contract, execute, mint, token_address
from tests.deploy.failover.judging import doubled, lost
from tests.deploy.failover.load import CHAIN, UNITS, Load

MERCHANTS, CHECKOUTS_A_DAY = 1_000, 10_000
PAID_OF_A_HUNDRED: Final = 62
RATE: Final = MERCHANTS * CHECKOUTS_A_DAY / 86_400
SECONDS: Final = 3_600.0
# Until all that was paid is final and told.
_PATIENCE: Final = 300.0
_CHAIN_ID, _CONFIRMATIONS, _BLOCK_SECONDS = 8453, 2, 2.0
_MOST_IN_A_BLOCK: Final = 400
_GAS_OF_A_BLOCK: Final = 28_000_000
# What the node keeps, as for an hour it would take more memory than this machine has.
_STATES, _BLOCKS = 8, 1_000
_WALLET: Final = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
_HOOKS: Final = "hook"
_COUNTS: Final = """
SELECT (SELECT count(*) FROM checkouts_checkout),
       (SELECT count(*) FROM checkouts_checkout WHERE status = 'completed'),
       (SELECT count(*) FROM checkouts_payment),
       (SELECT count(*) FROM (SELECT FROM checkouts_payment GROUP BY checkout_id HAVING count(*) > 1) AS repeated),
       (SELECT count(*) FROM webhooks_delivery WHERE event_type = 'checkout.completed' AND status = 'delivered'),
       (SELECT count(*) FROM checkouts_checkout WHERE status = 'expired'),
       (SELECT count(*) FROM webhooks_delivery WHERE status = 'delivered'),
       (SELECT count(*) FROM webhooks_delivery WHERE status <> 'delivered' AND created_at < now() - interval '10 seconds')
"""
_COUNTED: Final = (
    "created",
    "completed",
    "payments credited",
    "checkouts credited more than once",
    "completions told",
    "expired",
    "webhooks delivered",
    "webhooks that waited for over ten seconds",
)
_CHECKOUTS: Final = "SELECT order_ref, public_id FROM checkouts_checkout"
_COMPLETED: Final = "SELECT public_id FROM checkouts_checkout WHERE status = 'completed'"
# Each is a list of seconds: from a block's time to its credit, and from an event to the shop's answer.
_WAITS: Final = {
    "block until credited": """
        SELECT extract(epoch FROM p.credited_at - t.block_time)::float8
        FROM checkouts_payment p JOIN wallets_transfer t ON t.id = p.transfer_id""",
    "event until the shop's answer": """
        SELECT extract(epoch FROM d.finished_at - e.created_at)::float8
        FROM webhooks_delivery d JOIN webhooks_event e ON e.id = d.event_id WHERE d.finished_at IS NOT NULL""",
}


@dataclass
class Shops(Load):
    """Shops that create at a steady rate, and buyers that pay 62 of a hundred checkouts in the next block."""

    batch: str = ""
    batches: int = 0

    def _pay(self) -> None:
        seen = 0
        while not self._stop.wait(_BLOCK_SECONDS):
            chosen: list[tuple[str, str]] = []
            while len(chosen) < _MOST_IN_A_BLOCK and not self._payable.empty():
                public_id, address = self._payable.get()
                seen += 1
                if seen * PAID_OF_A_HUNDRED % 100 < PAID_OF_A_HUNDRED:
                    chosen.append((public_id, address))
            if chosen:
                self._pay_together(chosen)
            self.node.mine()

    def _pay_together(self, chosen: list[tuple[str, str]]) -> None:
        execute(
            self.node,
            payer(self.node),
            self.batch,
            "transfer_many(address,address[],uint256[])",
            token_address("USDC"),
            [address for _, address in chosen],
            [UNITS] * len(chosen),
            gas=_GAS_OF_A_BLOCK,
        )
        self.batches += 1
        self.paid += [public_id for public_id, _ in chosen]


def run(*, rounds: int, seconds: float) -> list[Report]:
    """Measure once, for an hour; rounds and seconds do not change that."""
    del rounds, seconds
    lasting = float(os.environ.get("FLORIN_FULL_RATE_SECONDS", SECONDS))
    with _node() as (node, batch), stack.engines(**_settings(node)), stack.receiver() as hooks:
        keys = _open_shops(hooks)
        with services() as port:
            shops = Shops(f"http://127.0.0.1:{port}", keys, node, RATE, batch=batch)
            _await_chain(node)
            before, began = _processor_seconds(), time.monotonic()
            shops.start()
            threading.Event().wait(lasting)
            shops.finish()
            lasted = time.monotonic() - began
            used = _since(before)
            _settle(shops)
        # Nothing changes any more: what is left unpaid would expire, and be told, for another half hour.
        found = _counted()
        claims = _claims(shops, found, _arrived(hooks))
        return [_report(shops, found, claims, used, lasted)]


@contextmanager
def _node() -> Iterator[tuple[Anvil, str]]:
    """Run the chain; yield it with the contract that pays many, which may spend the payer's USDC."""
    keeping = ("--transaction-block-keeper", str(_BLOCKS))
    with Anvil(_CHAIN_ID, states=_STATES, extra=keeping) as node:
        prepare_chain(node)
        usdc, buyer = token_address("USDC"), payer(node)
        mint(node, usdc, buyer.address, 10**14)
        batch = deploy_contract(node, "Batch")
        execute(node, buyer, usdc, "approve(address,uint256)", batch, 2**256 - 1)
        # At an interval of its own, anvil would keep the state of every block: the buyers have each block mined.
        node.set_automine(False)
        yield node, batch


def _settings(node: Anvil) -> dict[str, str]:
    return {
        "CHAIN_BASE_CONFIRMATIONS": str(_CONFIRMATIONS),
        "CHAIN_BASE_LARGE_AMOUNT_USD": "0",
        "CHAIN_BASE_RPC_URLS": node.url,
        "CHAIN_BASE_TOKEN_USDC": token_address("USDC"),
        "CHAIN_POLYGON_RPC_URLS": "",
        "WEBHOOK_ALLOW_LOOPBACK": "true",
    }


def _open_shops(hooks: int) -> list[str]:
    """Make the merchants, each with a wallet and an endpoint; return their live keys."""
    from django.utils import timezone

    from accounts.states import Mode
    from tests.factories import make_key, make_merchant, make_wallet
    from webhooks.endpoints.service import set_default_url

    keys = []
    for number in range(MERCHANTS):
        merchant = make_merchant(f"merchant {number}")
        make_wallet(merchant, CHAIN, _WALLET)
        url = f"http://127.0.0.1:{hooks}/{_HOOKS}/{number}"
        set_default_url(merchant, mode=Mode.LIVE, url=url, now=timezone.now())
        keys.append(make_key(merchant)[1])
    return keys


def _await_chain(node: Anvil) -> None:
    from django.utils import timezone

    from wallets.selectors import chain_statuses, forget
    from wallets.states import ChainStatus

    def is_read() -> bool:
        node.mine()
        forget()
        return chain_statuses(now=timezone.now())[CHAIN] == ChainStatus.OK

    if not comes_true(is_read, _PATIENCE, pause=_BLOCK_SECONDS):
        raise RuntimeError("the chain is not read")


def _processor_seconds() -> dict[str, float]:
    """Return what each kind of process used so far, and this one, which plays shops and buyers."""
    used: dict[str, float] = defaultdict(float)
    for name, process in named():
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        used[_kind(process, name)] += times.user + times.system
    own = resource.getrusage(resource.RUSAGE_SELF)
    used["shops and buyers"] = own.ru_utime + own.ru_stime
    return used


def _kind(process: psutil.Process, name: str) -> str:
    line = " ".join(process.cmdline())
    outside = {"anvil": "node", "benchmarks.receiver": "receiver of webhooks"}
    return next((kind for text, kind in outside.items() if text in line), name)


def _since(before: dict[str, float]) -> dict[str, float]:
    return {name: used - before.get(name, 0.0) for name, used in _processor_seconds().items()}


def _settle(shops: Shops) -> None:
    """Wait until all that was paid is completed and told."""

    def is_settled() -> bool:
        shops.node.mine()
        return _counted()["completions told"] == len(shops.paid)

    comes_true(is_settled, _PATIENCE, pause=_BLOCK_SECONDS)


def _counted() -> dict[str, int]:
    return dict(zip(_COUNTED, _rows(_COUNTS)[0], strict=True))


def _arrived(hooks: int) -> int:
    """Return how many webhooks the shops' receiver got."""
    with urlopen(f"http://127.0.0.1:{hooks}/") as answer:
        return len(json.load(answer).get(_HOOKS, ()))


def _rows(sql: str) -> list[tuple[Any, ...]]:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(sql)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def _claims(shops: Shops, found: dict[str, int], arrived: int) -> list[Claim]:
    """Compare what the shops and buyers know with what the database has, one by one."""
    rows = [(ref, public_id) for ref, public_id in _rows(_CHECKOUTS)]
    completed = {public_id for (public_id,) in _rows(_COMPLETED)}
    paid = set(shops.paid)
    late = "webhooks that waited for over ten seconds"
    counts = {
        "creations refused": len(shops.refusals),
        "accepted, lost": len(lost(shops.orders, rows)),
        "made twice": len(doubled(rows)),
        "paid, not completed": len(paid - completed),
        "completed, not paid": len(completed - paid),
        "credited more than once": found["checkouts credited more than once"],
        "completed, not told": len(completed) - found["completions told"],
        late: found[late],
        "webhooks that arrived never or twice": abs(arrived - found["webhooks delivered"]),
    }
    return [Claim(name, count, 0, at_most=True) for name, count in counts.items()]


def _report(shops: Shops, found: dict[str, int], claims: list[Claim], used: dict[str, float], lasted: float) -> Report:
    waits = [one.accepted - one.began for one in shops.orders if one.accepted]
    series = [
        Series("creations", "a second", [shops.accepted / lasted]),
        *_times("creation as the shop sees it", waits),
    ]
    for name, sql in _WAITS.items():
        series += _times(name, [seconds for (seconds,) in _rows(sql)])
    series += [Series(name, "rows", [count]) for name, count in found.items()]
    series += [
        Series(f"processor: {name}", "% of a core", [100 * seconds / lasted])
        for name, seconds in sorted(used.items(), key=lambda one: -one[1])
    ]
    note = (
        f"{lasted:,.0f} seconds; {len(shops.orders):,} orders, {len(shops.paid):,} of them paid in {shops.batches:,}"
        " transactions"
    )
    return Report("full rate", series, claims, [note])


def _times(name: str, waits: list[float]) -> list[Series]:
    """Return the median and what 99 of 100 do not exceed, in milliseconds."""
    if len(waits) < 2:
        return []
    percentiles = quantiles(waits, n=100, method="inclusive")
    return [Series(f"{name}, {label}", "ms", [1000 * percentiles[at - 1]]) for label, at in (("p50", 50), ("p99", 99))]
