"""A reorg takes back what a wallet signed of ours on local nodes of Solana, Tron and TON: nothing is paid twice, and nothing is lost."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.utils import timezone

from accounts.models import Merchant
from gateway.core.api.errors import ConflictError
from payouts.following.service import follow_movements
from payouts.models import Payout, PayoutRequest
from payouts.states import PayoutException, PayoutStatus
from tests.payouts.factories import status_of
from tests.payouts.test_transactions import PAID, SENDING, UNITS, SolanaTill, Till, TonTill, TronTill
from tests.waiting import wait_until
from tests.wallets.contract.labs import Lab
from tests.wallets.factories import read_all
from wallets.chains.registry import open_pool
from wallets.models import ChainCursor, WatchedMovement
from wallets.networks import chain_spec
from wallets.states import Direction, TransferState
from wallets.watcher_process import open_watcher
from wallets.watchers.ingest import resume

if TYPE_CHECKING:
    from wallets.chains.base import BlockRef

pytestmark = pytest.mark.django_db

FINAL = 40
"""Blocks after which each of these chains calls a payment final."""


class Road:
    """A payout that is handed out as a transaction of ours, the chain's watcher, and the chain in a laboratory."""

    def __init__(self, till: Till, lab: Lab) -> None:
        self.till, self.lab = till, lab
        self.payout = till.payout()
        # The chain's blocks may have an older time than the tests' noon.
        Payout.objects.update(created_at=timezone.now() - timedelta(days=365))
        self.batch = till.hand_out(self.payout)
        spec = chain_spec(till.chain)
        ChainCursor.objects.all().delete()
        self.watcher = open_watcher(spec, open_pool(spec), owner="one")
        self.follow()
        self.written = till.ask(self.batch, self.payout)
        self.before: BlockRef = lab.mark()

    def send(self) -> None:
        """The wallet signs what it was given, and it is sent; the same bytes each time."""
        self.till.send(self.batch, self.payout, self.written)

    def follow(self) -> None:
        """Read the chain to its head, and follow what was read."""
        read_all(self.watcher)
        follow_movements(now=timezone.now())

    def is_now(self, status: PayoutStatus, exception: PayoutException = PayoutException.NONE) -> bool:
        """Whether the payout is so, once what the chain has now was followed."""
        self.follow()
        self.payout.refresh_from_db()
        return (self.payout.status, self.payout.exception) == (status, exception)

    def asked_again(self) -> Any:
        """What the wallet is given if it asks once more; None if it gets nothing."""
        with suppress(ConflictError):
            return self.till.ask(self.batch, self.payout)
        return None


def _solana(request: pytest.FixtureRequest, settings: Any, merchant: Merchant) -> tuple[Till, Lab]:
    from tests.wallets.contract.accountlabs import SolanaLab

    node = request.getfixturevalue("solana_node")
    settings.CHAIN_SETTINGS = {"SOLANA_RPC_URLS": node.url}
    return SolanaTill(node, merchant), SolanaLab(node)


def _tron(request: pytest.FixtureRequest, settings: Any, merchant: Merchant) -> tuple[Till, Lab]:
    from tests.wallets.contract.evmlabs import TronLab

    node = request.getfixturevalue("tron_node")
    settings.CHAIN_SETTINGS = {"TRON_RPC_URLS": node.url, "TRON_GRID_URLS": node.grid_url}
    return TronTill(node, merchant), TronLab(node)


def _ton(request: pytest.FixtureRequest, settings: Any, merchant: Merchant) -> tuple[Till, Lab]:
    from tests.wallets.contract.accountlabs import TonLab

    node = request.getfixturevalue("ton_node")
    settings.CHAIN_SETTINGS = {"TON_RPC_URLS": node.url, "TON_TOKEN_USDT": node.usdt}
    return TonTill(node, merchant), TonLab(node)


PLACES: dict[str, Callable[..., tuple[Till, Lab]]] = {"solana": _solana, "tron": _tron, "ton": _ton}


@pytest.fixture(params=PLACES)
def road(request: pytest.FixtureRequest, settings: Any, merchant: Merchant) -> Iterator[Road]:
    """The payout on each chain in turn."""
    settings.MOVEMENT_CONSUMERS = []
    settings.CHAIN_NETWORK = "local"
    opened = Road(*PLACES[request.param](request, settings, merchant))
    yield opened
    opened.watcher.close()


def test_what_a_reorg_takes_back_is_paid_once_by_the_same_transaction(road: Road) -> None:
    """Where blocks are final when they are read, it is reversed, and stays so until a person has looked."""
    road.send()
    wait_until(lambda: (road.is_now(SENDING) and road.payout.movement is not None) or road.is_now(PAID))
    was_final, seen = road.payout.status == PAID, road.payout.movement
    assert seen is not None
    road.lab.fork(road.before)
    road.lab.wait(1)
    assert road.till.received() == 0
    if was_final:
        wait_until(lambda: road.is_now(PAID, PayoutException.REVERSED))
        assert road.asked_again() is None
    else:
        wait_until(lambda: road.is_now(SENDING) and road.payout.movement is None)
        # Nothing else is written while that may return: where its bytes cannot be changed, they are handed out again.
        assert road.asked_again() in (None, road.written)
    handed = list(PayoutRequest.objects.values_list("raw", "valid_until"))
    road.send()
    road.lab.wait(FINAL)
    wait_until(lambda: road.is_now(PAID))
    assert road.till.received() == UNITS
    paid = WatchedMovement.objects.exclude(state=TransferState.ORPHANED).get(direction=Direction.OUT)
    assert paid == road.payout.movement
    assert list(PayoutRequest.objects.values_list("raw", "valid_until")) == handed


def test_what_was_final_is_reversed_and_nothing_is_handed_out_by_itself(road: Road) -> None:
    road.send()
    road.lab.wait(FINAL)
    wait_until(lambda: road.is_now(PAID))
    road.lab.fork(road.before)
    road.lab.wait(3)
    assert road.till.received() == 0

    def is_told() -> bool:
        if road.is_now(PAID, PayoutException.REVERSED):
            return True
        if ChainCursor.objects.get().halted_reason:
            # Deeper than what is final: the chain waits for a person.
            resume(road.till.chain, height=road.before.height, now=timezone.now())
        return False

    wait_until(is_told)
    for _ in range(2):
        assert road.asked_again() is None
        road.lab.wait(3)
        assert road.is_now(PAID, PayoutException.REVERSED)
    assert (status_of(road.payout), road.till.received()) == (PAID, 0)
