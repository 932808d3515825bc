"""A source that leaves things out: whole, well-formed answers that lack a payment now and then lose nothing."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db.models import QuerySet

from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.tokens import token_address
from tests.nodes.proxy import Answer, Ask, Request, RpcProxy, as_if_busy, one_by_one
from tests.waiting import wait_until
from tests.wallets.factories import address_of, local_spec, make_deposit
from tests.wallets.paying import transfer_many
from wallets.models import ChainCursor, SourceDifference, Transfer
from wallets.states import DifferenceKind
from wallets.watcher_process import WatchedChain, watch

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

USDC = token_address("USDC")
PAYMENTS, IN_A_TRANSACTION, ONE_IN = 210, 5, 50


Log = tuple[str, str]


class Leaver:
    """Leaves every fiftieth log out of what a node tells, the same ones each time, and remembers which."""

    def __init__(self) -> None:
        self._is_kept: dict[Log, bool] = {}
        self._lock = threading.Lock()
        self._answer = one_by_one(self._one)

    @property
    def left_out(self) -> set[Log]:
        """The logs left out so far: transaction and recipient, as a topic."""
        with self._lock:
            return {log for log, is_kept in self._is_kept.items() if not is_kept}

    def __call__(self, proxy: RpcProxy, request: Request, ask: Ask) -> Answer:
        """Answer as the node does, but for the logs left out."""
        return self._answer(proxy, request, ask)

    def _one(self, request: Any, ask: Ask) -> Any:
        answer = ask(request)
        if request["method"] == "eth_getLogs":
            answer["result"] = [log for log in answer["result"] if self._keeps(log)]
        return answer | {"result": as_if_busy(answer["result"])}

    def _keeps(self, log: Any) -> bool:
        with self._lock:
            is_fiftieth = (len(self._is_kept) + 1) % ONE_IN == 0
            name = (log["transactionHash"], log["topics"][2])
            return self._is_kept.setdefault(name, not is_fiftieth)


@contextmanager
def watching(*urls: str) -> Iterator[None]:
    """The real watcher with what runs beside it, in threads of this process."""
    stop = threading.Event()
    chains = [WatchedChain(local_spec(*urls))]
    thread = threading.Thread(target=watch, args=(chains,), kwargs={"until": stop.wait})
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def pay_all(node: Anvil) -> dict[str, tuple[str, int]]:
    """Pay to an address each, several in a transaction; return by address the transaction and the units."""
    addresses = [address_of(make_deposit()) for _ in range(PAYMENTS)]
    paid: dict[str, tuple[str, int]] = {}
    for start in range(0, PAYMENTS, IN_A_TRANSACTION):
        part = addresses[start : start + IN_A_TRANSACTION]
        payments = [(to, start + place + 1) for place, to in enumerate(part)]
        tx_hash = transfer_many(node, payer(node), USDC, payments)
        paid |= {to: (tx_hash, units) for to, units in payments}
    return paid


def is_read_to(height: int) -> bool:
    return ChainCursor.objects.filter(height__gte=height).exists()


def recorded() -> dict[str, tuple[str, int]]:
    rows = Transfer.objects.values_list("recipient", "tx_hash", "units")
    assert len(rows) == len({recipient for recipient, _, _ in rows})
    return {recipient: (tx_hash, int(units)) for recipient, tx_hash, units in rows}


def read_with_a_leaver(node: Anvil, leaver: Leaver) -> dict[str, tuple[str, int]]:
    """Pay while the chain is read from a node that leaves logs out; return what was paid."""
    paid = pay_all(node)
    node.mine(6)
    wait_until(lambda: is_read_to(node.block_number()))
    assert len(leaver.left_out) >= PAYMENTS // ONE_IN
    return paid


def test_without_a_second_look_what_a_node_leaves_out_is_lost(base_node: Anvil, settings: Any) -> None:
    settings.RECONCILE_SECONDS = 0
    leaver = Leaver()
    with RpcProxy(base_node.url) as liar, RpcProxy(base_node.url) as honest:
        liar.fault = leaver
        with watching(liar.url, honest.url):
            paid = read_with_a_leaver(base_node, leaver)
            assert len(recorded()) == PAYMENTS - len(leaver.left_out)
            assert recorded().items() < paid.items()
    assert not SourceDifference.objects.exists()


def test_a_node_that_leaves_out_one_log_in_fifty_loses_nothing(base_node: Anvil, settings: Any) -> None:
    settings.RECONCILE_SECONDS = 2
    leaver = Leaver()
    with RpcProxy(base_node.url) as liar, RpcProxy(base_node.url) as honest:
        liar.fault = leaver
        with watching(liar.url, honest.url):
            paid = read_with_a_leaver(base_node, leaver)
            wait_until(lambda: len(recorded()) == PAYMENTS)
            wait_until(_is_confirmed)
    assert recorded() == paid
    missed = SourceDifference.objects.filter(kind=DifferenceKind.MISSED)
    assert set(missed.values_list("source", flat=True)) == {honest.url}
    assert _told(missed) == leaver.left_out
    # The liar has had its turn again, or not yet, or was asked in the middle of the payments.
    unknown = SourceDifference.objects.filter(kind=DifferenceKind.UNKNOWN)
    assert _told(unknown) <= leaver.left_out


def _is_confirmed() -> bool:
    return not Transfer.objects.exclude(state="confirmed").exists()


def _told(differences: QuerySet[SourceDifference]) -> set[Log]:
    rows = differences.values_list("tx_hash", "recipient")
    return {(tx, f"0x{bytes(12).hex()}{to[2:].lower()}") for tx, to in rows}
