"""The second look survives what happens to it, and ends when it is told to."""

import threading
from collections.abc import Iterator
from contextlib import closing

import pytest
from django.db import connection
from django.utils import timezone

from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.tokens import token_address
from tests.nodes.proxy import RpcProxy, garbage, honest
from tests.waiting import PATIENCE_SECONDS, wait_until
from tests.wallets.factories import address_of, local_spec, make_deposit, read_all
from tests.wallets.paying import transfer
from wallets.chains.registry import open_pool
from wallets.models import Transfer
from wallets.reconciliation import passes as auditing
from wallets.reconciliation.missed import ask_again
from wallets.reconciliation.passes import audit_chain
from wallets.watcher_process import open_watcher
from wallets.watchers.passes import ChainWatcher

pytestmark = pytest.mark.django_db(transaction=True)

USDC = token_address("USDC")
LARGE = 10_000_000_000


class Audit:
    """The second look in a thread of its own, at a chain behind a proxy."""

    def __init__(self, proxy: RpcProxy) -> None:
        self.proxy, self.stop = proxy, threading.Event()
        spec = local_spec(proxy.url)
        self.watcher: ChainWatcher = open_watcher(spec, open_pool(spec), owner="one")
        self.thread = threading.Thread(target=audit_chain, kwargs={"spec": spec, "owner": "one", "stop": self.stop})

    def end(self) -> None:
        self.stop.set()
        self.thread.join()
        self.watcher.close()


@pytest.fixture
def resting(base_node: Anvil, monkeypatch: pytest.MonkeyPatch) -> Iterator[Audit]:
    """One whose thread the test starts."""
    monkeypatch.setattr(auditing, "BEAT_SECONDS", 0.05)
    with RpcProxy(base_node.url) as proxy:
        made = Audit(proxy)
        yield made
        made.end()


@pytest.fixture
def audit(resting: Audit) -> Audit:
    resting.thread.start()
    return resting


def pay_large(node: Anvil, audit: Audit) -> None:
    transfer(node, payer(node), USDC, address_of(make_deposit()), LARGE)
    node.mine(6)
    read_all(audit.watcher)


def is_confirmed(audit: Audit) -> bool:
    # Its lease lasts as long as it reads.
    audit.watcher.tick(now=timezone.now())
    return Transfer.objects.filter(state="confirmed").exists()


def end_other_connections() -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        return int(cursor.fetchone()[0])


def test_it_confirms_a_large_amount_beside_the_watcher(base_node: Anvil, audit: Audit) -> None:
    pay_large(base_node, audit)
    wait_until(lambda: is_confirmed(audit))


def test_it_reads_again_what_somebody_named_beside_the_watcher(
    base_node: Anvil, audit: Audit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wallets.reconciliation.missed._LOOK_SECONDS", 0.1)
    tx_hash = transfer(base_node, payer(base_node), USDC, address_of(make_deposit()), 25)
    base_node.mine(6)
    read_all(audit.watcher)
    Transfer.objects.all().delete()
    spec = local_spec(base_node.url)
    with closing(spec.family.open_adapter(spec, open_pool(spec))) as adapter:
        found = adapter.find(tx_hash)
    assert found is not None
    assert ask_again(found, now=timezone.now())

    def is_back() -> bool:
        audit.watcher.tick(now=timezone.now())
        return Transfer.objects.filter(tx_hash=tx_hash).exists()

    wait_until(is_back)


@pytest.mark.sessions
def test_it_goes_on_after_the_database_ended_its_connection(base_node: Anvil, audit: Audit) -> None:
    wait_until(end_other_connections)
    pay_large(base_node, audit)
    wait_until(lambda: is_confirmed(audit))


def test_it_goes_on_after_a_node_that_answered_nonsense(
    base_node: Anvil, resting: Audit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wallets.reconciliation.confirmation._FINALITY_SECONDS", 0.1)
    pay_large(base_node, resting)
    resting.proxy.fault = garbage()
    before = resting.proxy.requests
    resting.thread.start()
    wait_until(lambda: resting.proxy.requests > before)
    resting.proxy.fault = honest
    wait_until(lambda: is_confirmed(resting))


def test_it_goes_on_after_an_error_of_ours(base_node: Anvil, audit: Audit, monkeypatch: pytest.MonkeyPatch) -> None:
    happened = threading.Event()

    def fails(_: object) -> None:
        happened.set()
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr("wallets.reconciliation.confirmation.LargeAmounts._waiting", fails)
        assert happened.wait(PATIENCE_SECONDS)
    pay_large(base_node, audit)
    wait_until(lambda: is_confirmed(audit))
