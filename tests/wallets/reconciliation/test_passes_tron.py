"""What Tron's JSON-RPC leaves out, TronGrid's REST interface tells."""

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Any

import pytest
from django.utils import timezone

from localnet.tron import TronNode
from localnet.tron.addresses import to_base58
from tests.factories import make_merchant, make_wallet
from tests.nodes.proxy import RpcProxy, honest, results
from tests.wallets.chains.rpc.test_pool import Clock
from tests.wallets.contract.hostile import Answer, HttpProxy
from tests.wallets.factories import read_all
from wallets.chains.registry import load_chains, open_pool
from wallets.models import ChainCursor, SourceDifference, Transfer
from wallets.reconciliation.passes import Reconciler
from wallets.watcher_process import open_watcher

pytestmark = pytest.mark.django_db
EVERY = 300.0


class TronBooks:
    """Tron behind a proxy for JSON-RPC, TronGrid beside it, a wallet to pay, and the pass that looks again."""

    def __init__(self, node: TronNode, proxy: RpcProxy, *, grid_url: str | None = None) -> None:
        self.node, self.proxy, self.clock = node, proxy, Clock()
        settings = {"TRON_RPC_URLS": proxy.url, "TRON_GRID_URLS": grid_url or node.grid_url, "TRON_START_BLOCK": "0"}
        spec = load_chains("local", settings)["tron"]
        self.watcher = open_watcher(spec, open_pool(spec), owner="one")
        self.reconciler = Reconciler(spec, owner="one", every=EVERY, clock=self.clock)
        self.to = to_base58(node.anvil.accounts[6].address)

    def pay(self) -> str:
        """Pay, and let the watcher read it once it is solid."""
        tx_id = self.node.pay(self.to, 25)
        self.node.mine(20)
        read_all(self.watcher)
        return tx_id

    def compare(self) -> None:
        """Do a whole pass."""
        read_all(self.watcher)
        self.clock.seconds += EVERY
        for _ in range(20):
            self.clock.seconds += 1
            self.reconciler.tick(now=timezone.now())

    def close(self) -> None:
        self.watcher.close()
        self.reconciler.close()


@pytest.fixture
def books(tron_node: TronNode) -> Iterator[TronBooks]:
    with ExitStack() as stack:
        proxy = stack.enter_context(RpcProxy(tron_node.url))
        opened = TronBooks(tron_node, proxy)
        stack.callback(opened.close)
        give_wallet(opened.to)
        yield opened


def give_wallet(address: str) -> None:
    """A merchant's wallet, given before anything was paid."""
    wallet = make_wallet(make_merchant(), "tron", address)
    wallet.created_at = datetime(2001, 1, 1, tzinfo=UTC)
    wallet.save()


def without_logs(method: str, result: Any) -> Any:
    """Tell of no log at all."""
    return [] if method == "eth_getLogs" else result


def test_both_interfaces_tell_the_same(books: TronBooks) -> None:
    books.pay()
    books.compare()
    assert Transfer.objects.count() == 1
    assert not SourceDifference.objects.exists()
    assert ChainCursor.objects.get().reconciled_at is not None


def test_what_json_rpc_leaves_out_is_recorded_from_trongrid(books: TronBooks) -> None:
    books.proxy.fault = results(without_logs)
    tx_id = books.pay()
    assert not Transfer.objects.exists()
    books.compare()
    assert Transfer.objects.get().tx_hash == tx_id
    difference = SourceDifference.objects.get()
    assert (difference.kind, difference.source) == ("missed", books.node.grid_url)
    # Read again by JSON-RPC it is the same transfer.
    books.proxy.fault = honest
    books.compare()
    assert Transfer.objects.count() == SourceDifference.objects.count() == 1


def test_a_wallet_whose_listing_cannot_be_used_does_not_hide_the_others(tron_node: TronNode) -> None:
    with RpcProxy(tron_node.url) as rpc, HttpProxy(tron_node.grid_url) as grid:
        rpc.fault = results(without_logs)
        books = TronBooks(tron_node, rpc, grid_url=grid.url)
        bad = to_base58(tron_node.anvil.accounts[7].address)
        for to in (bad, books.to):
            give_wallet(to)
        grid.fault = lambda target, answer: Answer(b'{"success": false}') if bad in target else answer
        tx_id = books.pay()
        books.compare()
        books.close()
    assert Transfer.objects.get().tx_hash == tx_id
    assert ChainCursor.objects.get().reconciled_at is None
