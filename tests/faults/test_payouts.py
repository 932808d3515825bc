"""Whoever is killed in a payout's life, and whenever: nothing is handed out or called paid twice, and nothing is lost."""

import json
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import Merchant
from accounts.states import Mode
from gateway.core.api.errors import ConflictError
from localnet.anvil import Anvil
from localnet.errors import NodeError
from localnet.funding import payer
from localnet.tokens import balance_of
from payouts.batches.service import close_batches
from payouts.following.service import follow_movements
from payouts.lifecycle.service import Terms, request_refund, set_address
from payouts.lifecycle.sources import Source
from payouts.models import Payout, PayoutBatch
from payouts.states import AddressBy, BatchStatus, PayoutStatus
from settlements.models import GasTransaction
from tests.checkouts.inboxes import extra_item
from tests.checkouts.watcher import DOLLAR
from tests.factories import make_merchant
from tests.payouts.factories import approved, make_approver, status_of
from tests.payouts.processes import NOW, PAYING_KEY, RECIPIENT, SENT, TORN, killed_throughout
from tests.payouts.signing import Desk, open_desk, read_until
from tests.payouts.test_transactions import SolanaTill, Till, TonTill, TronTill, out
from tests.settlements.chain import USDC
from tests.waiting import wait_until
from tests.wallets import paying
from tests.wallets.factories import read_all
from wallets.chains.registry import open_pool
from wallets.models import ChainCursor, WatchedMovement
from wallets.networks import chain_spec
from wallets.transfers.movements import answer_for_movements
from wallets.watcher_process import open_watcher

pytestmark = [pytest.mark.faults, pytest.mark.slow, pytest.mark.django_db(transaction=True)]

CONFIRMATIONS = 6
UNITS = 5 * DOLLAR
LEAST_MOMENTS = 3


class Life:
    """Money in the inbox that is given back, on a local Base."""

    payout: Payout

    def __init__(self, node: Anvil) -> None:
        self.node = node
        self.chain = {
            "CHAIN_BASE_RPC_URLS": node.url,
            "CHAIN_BASE_TOKEN_USDC": USDC,
            "CHAIN_BASE_CONFIRMATIONS": str(CONFIRMATIONS),
            "PAYING_WALLET": payer(node).address,
        }
        self.merchant = make_merchant()
        self.owner = make_approver(self.merchant)
        self.item = extra_item(merchant=self.merchant)
        self.had = balance_of(node, USDC, RECIPIENT)

    def ask(self) -> None:
        """Ask for a refund, to whose recipient the link is sent."""
        source = Source(chain="base", tx_hash=self.item.transfer.tx_hash)
        terms: Any = {"source": source, "amount": Decimal(5), "terms": Terms(), "now": timezone.now()}
        self.payout = request_refund(self.merchant, mode=Mode.LIVE, **terms).payout

    def killed(self, *steps: str) -> None:
        """Take steps by processes that are killed at every moment of them."""
        deaths = killed_throughout(*steps, payout_id=self.payout.public_id, chain=self.chain)
        # Each has statements, and a commit.
        assert min(deaths) >= LEAST_MOMENTS, dict(zip(steps, deaths, strict=True))

    @property
    def now(self) -> Payout:
        """The payout as it is now."""
        return Payout.objects.get(pk=self.payout.pk)

    def send(self) -> str:
        """The paying wallet sends what it was asked for; return the hash. Whoever asked it may be dead by now."""
        return paying.transfer(self.node, payer(self.node), USDC, RECIPIENT, UNITS)

    def received(self) -> int:
        return balance_of(self.node, USDC, RECIPIENT) - self.had


@pytest.fixture
def unasked(base_node: Anvil) -> Life:
    """The money, before anybody asked for a refund."""
    return Life(base_node)


@pytest.fixture
def life(unasked: Life) -> Life:
    """The refund as it begins."""
    unasked.ask()
    return unasked


def made_ready(life: Life) -> None:
    """The recipient gave an address, and the owner approved it."""
    approved(set_address(life.payout, address=RECIPIENT, by=AddressBy.CLAIM, now=timezone.now()), life.owner)


def hand_out(life: Life) -> None:
    """A batch is made."""
    made_ready(life)
    life.killed("hand_out")
    assert (life.now.status, PayoutBatch.objects.count()) == (PayoutStatus.SENDING, 1)


def live_through(life: Life) -> None:
    """From the link to the inbox."""
    life.killed("claim")
    assert life.now.status == PayoutStatus.REQUESTED
    life.killed("approve")
    assert life.now.status == PayoutStatus.APPROVED
    life.killed("hand_out", "read")
    assert (life.now.status, life.now.movement) == (PayoutStatus.SENDING, None)
    life.send()
    life.killed("read", "follow", "recheck")
    assert life.now.movement is not None
    assert (life.now.status, life.now.movement.state) == (PayoutStatus.SENDING, "detected")
    life.node.mine(CONFIRMATIONS)
    life.killed("read", "follow", "recheck", "close")
    assert life.now.status == PayoutStatus.PAID
    life.item.refresh_from_db()
    assert life.item.status == "refunded"
    assert PayoutBatch.objects.get().status == BatchStatus.CLOSED
    assert life.received() == UNITS


@pytest.mark.parametrize("story", [hand_out, live_through])
def test_killed_at_every_moment_of_a_step_nothing_is_handed_out_or_paid_twice_or_lost(
    story: Callable[[Life], None], life: Life
) -> None:
    story(life)


def test_without_transactions_a_killed_step_would_leave_half_of_itself(life: Life) -> None:
    """The negative control of the test above."""
    made_ready(life)
    life.chain[TORN] = "1"
    with pytest.raises(AssertionError, match="after moment"):
        life.killed("hand_out")


def test_killed_at_every_moment_of_naming_what_was_sent_already_it_is_one_refund(unasked: Life, settings: Any) -> None:
    settings.MOVEMENT_CONSUMERS = []
    unasked.chain[SENT] = unasked.send()
    [deaths] = killed_throughout("name_sent", payout_id="", chain=unasked.chain)
    assert deaths >= LEAST_MOMENTS
    unasked.payout = Payout.objects.get()
    assert unasked.now.status == PayoutStatus.SENDING
    # Two nodes know it.
    [movement] = WatchedMovement.objects.all()
    assert (unasked.now.movement, answer_for_movements([movement], now=timezone.now())) == (movement, 1)
    unasked.killed("follow")
    unasked.item.refresh_from_db()
    assert (unasked.now.status, unasked.item.status) == (PayoutStatus.PAID, "refunded")
    assert unasked.received() == UNITS


def variables(settings: Any) -> dict[str, str]:
    """The chains' settings, for a process."""
    return {f"CHAIN_{name}": str(value) for name, value in settings.CHAIN_SETTINGS.items()}


@pytest.fixture
def desk(base_node: Anvil, usdc: str, merchant: Merchant, settings: Any) -> Desk:
    """A merchant whose wallet signs and whose gas account sends."""
    return open_desk(base_node, usdc, merchant, settings)


@pytest.fixture
def gas(desk: Desk, settings: Any) -> dict[str, str]:
    """What processes have to know of Base, the paying wallet and the gas account."""
    keys = {"GAS_KEYS": desk.node.accounts[3].key, "GAS_COIN_USD": "base=10", PAYING_KEY: desk.wallet.key}
    return variables(settings) | keys


def test_killed_at_every_moment_of_sending_what_was_signed_it_is_sent_once(desk: Desk, gas: dict[str, str]) -> None:
    payout = desk.payout()
    desk.hand_out(payout)
    had = desk.received()
    signing, sending = killed_throughout("sign", "relay", payout_id=payout.public_id, chain=gas)
    assert (signing >= LEAST_MOMENTS, sending > 10) == (True, True)
    assert GasTransaction.objects.get().succeeded
    assert desk.received() - had == UNITS


def test_killed_at_every_moment_of_taking_back_what_was_signed_it_is_free_after_its_end(
    desk: Desk, gas: dict[str, str]
) -> None:
    payout = desk.payout()
    end = desk.hand_out(payout).valid_until
    assert end is not None
    had = desk.received()
    signing, cancelling, _ = killed_throughout("sign", "cancel", "relay", payout_id=payout.public_id, chain=gas)
    assert min(signing, cancelling) >= LEAST_MOMENTS
    assert (status_of(payout), GasTransaction.objects.exists()) == (PayoutStatus.SENDING, False)
    late = end + timedelta(hours=1)
    desk.node.set_next_timestamp(int(end.timestamp()))
    desk.node.mine(chain_spec("base").confirmations)
    read_until(late)
    [freeing] = killed_throughout("close", payout_id=payout.public_id, chain=gas | {NOW: late.isoformat()})
    assert freeing >= LEAST_MOMENTS
    assert (status_of(payout), PayoutBatch.objects.get().status) == (PayoutStatus.APPROVED, BatchStatus.CLOSED)
    assert desk.received() == had


@pytest.fixture(params=["tron", "solana", "ton"])
def till(request: pytest.FixtureRequest, merchant: Merchant, settings: Any) -> Till:
    """A merchant whose wallet signs transactions of ours, on each chain in turn."""
    settings.MOVEMENT_CONSUMERS = []
    settings.CHAIN_NETWORK = "local"
    node = request.getfixturevalue(f"{request.param}_node")
    match request.param:
        case "tron":
            settings.CHAIN_SETTINGS = {"TRON_RPC_URLS": node.url, "TRON_GRID_URLS": node.grid_url}
            return TronTill(node, merchant)
        case "solana":
            settings.CHAIN_SETTINGS = {"SOLANA_RPC_URLS": node.url}
            return SolanaTill(node, merchant)
        case _:
            settings.CHAIN_SETTINGS = {"TON_RPC_URLS": node.url, "TON_TOKEN_USDT": node.usdt}
            return TonTill(node, merchant)


def written_for(payout: Payout) -> Any:
    """What the wallet was given: the page may live on, though the process that answered it is dead."""
    return json.loads(bytes(out(payout).raw))["transaction"]


def let_blocks_pass(till: Till) -> None:
    """Until what is in one is final."""
    if isinstance(till, TronTill):
        till.node.anvil.mine(20)
    elif isinstance(till, SolanaTill | TonTill):
        till.node.advance(40)


def test_killed_at_every_moment_of_writing_what_the_wallet_signs_it_pays_once(till: Till, settings: Any) -> None:
    payout, chain = till.payout(), variables(settings)
    # The chain's blocks may have an older time than the tests' noon.
    Payout.objects.update(created_at=timezone.now() - timedelta(days=365))
    batch = till.hand_out(payout)
    ChainCursor.objects.all().delete()
    spec = chain_spec(till.chain)
    with closing(open_watcher(spec, open_pool(spec), owner="one")) as watcher:
        read_all(watcher)
        [writing] = killed_throughout("prepare", payout_id=payout.public_id, chain=chain)
        assert writing >= LEAST_MOMENTS
        if isinstance(till, TronTill):
            # What the wallet signed is sent by us there.
            chain |= {PAYING_KEY: payer(till.node.anvil).key}
            [sending] = killed_throughout("send", payout_id=payout.public_id, chain=chain)
            assert sending >= LEAST_MOMENTS
        else:
            till.send(batch, payout, written_for(payout))
        assert till.received() == UNITS
        killed_throughout("read", "follow", "recheck", payout_id=payout.public_id, chain=chain)

        def is_paid() -> bool:
            let_blocks_pass(till)
            read_all(watcher)
            follow_movements(now=timezone.now())
            return status_of(payout) == PayoutStatus.PAID

        wait_until(is_paid)
    killed_throughout("recheck", "close", payout_id=payout.public_id, chain=chain)
    assert PayoutBatch.objects.get().status == BatchStatus.CLOSED
    with pytest.raises(ConflictError):
        till.ask(batch, payout)
    assert till.received() == UNITS


def test_killed_at_every_moment_of_taking_a_batch_back_its_payout_is_free_after_the_end_and_paid_once(
    till: Till, settings: Any
) -> None:
    payout, chain = till.payout(), variables(settings)
    batch = till.hand_out(payout)
    # Nothing counts as ended before the chain was read.
    till.read(timezone.now() - timedelta(days=1))
    deaths = killed_throughout("prepare", "cancel", payout_id=payout.public_id, chain=chain)
    assert min(deaths) >= LEAST_MOMENTS
    first = written_for(payout)
    assert close_batches(now=timezone.now()) == 0
    late = till.end(out(payout), final=True)
    let_blocks_pass(till)
    till.read(late)
    [freeing] = killed_throughout("close", payout_id=payout.public_id, chain=chain | {NOW: late.isoformat()})
    assert freeing >= LEAST_MOMENTS
    assert status_of(payout) == PayoutStatus.APPROVED
    again = till.hand_out(payout)
    if isinstance(till, SolanaTill):
        till.forget()
    till.send(again, payout, till.ask(again, payout, now=late))
    if not isinstance(till, TonTill):
        # There the local wallet looks at no end.
        with pytest.raises((ConflictError, NodeError)):
            till.send(batch, payout, first)
    assert till.received() == UNITS
