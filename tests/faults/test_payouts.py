"""Whoever is killed in a payout's life, and whenever: nothing is handed out or called paid twice, and nothing is lost."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import Merchant
from accounts.states import Mode
from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.tokens import balance_of
from payouts.lifecycle.service import Terms, request_refund, set_address
from payouts.lifecycle.sources import Source
from payouts.models import Payout, PayoutBatch
from payouts.states import AddressBy, BatchStatus, PayoutStatus
from settlements.models import GasTransaction
from tests.checkouts.inboxes import extra_item
from tests.checkouts.watcher import DOLLAR
from tests.factories import make_merchant
from tests.payouts.factories import approved, make_approver
from tests.payouts.processes import RECIPIENT, TORN, killed_throughout
from tests.payouts.test_authorizations import Desk
from tests.settlements.chain import USDC
from tests.wallets import paying

pytestmark = [pytest.mark.faults, pytest.mark.slow, pytest.mark.django_db(transaction=True)]

CONFIRMATIONS = 6
UNITS = 5 * DOLLAR
LEAST_MOMENTS = 3


class Life:
    """A refund of money in the inbox, whose recipient has the link, on a local Base."""

    def __init__(self, node: Anvil) -> None:
        self.node = node
        self.chain = {
            "CHAIN_BASE_RPC_URLS": node.url,
            "CHAIN_BASE_TOKEN_USDC": USDC,
            "CHAIN_BASE_CONFIRMATIONS": str(CONFIRMATIONS),
            "PAYING_WALLET": payer(node).address,
        }
        merchant = make_merchant()
        self.owner = make_approver(merchant)
        self.item = extra_item(merchant=merchant)
        source = Source(chain="base", tx_hash=self.item.transfer.tx_hash)
        terms: Any = {"source": source, "amount": Decimal(5), "terms": Terms(), "now": timezone.now()}
        self.payout = request_refund(merchant, mode=Mode.LIVE, **terms).payout
        self.had = balance_of(node, USDC, RECIPIENT)

    def killed(self, *steps: str) -> None:
        """Take steps by processes that are killed at every moment of them."""
        deaths = killed_throughout(*steps, payout_id=self.payout.public_id, chain=self.chain)
        # Each has statements, and a commit.
        assert min(deaths) >= LEAST_MOMENTS, dict(zip(steps, deaths, strict=True))

    @property
    def now(self) -> Payout:
        """The payout as it is now."""
        return Payout.objects.get(pk=self.payout.pk)

    def send(self) -> None:
        """The paying wallet sends what it was asked for. Whoever asked it may be dead by now."""
        paying.transfer(self.node, payer(self.node), USDC, RECIPIENT, UNITS)

    def received(self) -> int:
        return balance_of(self.node, USDC, RECIPIENT) - self.had


@pytest.fixture
def life(base_node: Anvil) -> Life:
    """The refund as it begins."""
    return Life(base_node)


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


@pytest.fixture
def desk(base_node: Anvil, usdc: str, merchant: Merchant, settings: Any) -> Desk:
    """A merchant whose wallet signs and whose gas account sends."""
    settings.MOVEMENT_CONSUMERS = []
    return Desk(base_node, usdc, merchant)


def test_killed_at_every_moment_of_sending_what_was_signed_it_is_sent_once(desk: Desk, settings: Any) -> None:
    payout = desk.payout()
    desk.sign(desk.hand_out(payout), payout)
    chain = {f"CHAIN_{name}": str(value) for name, value in settings.CHAIN_SETTINGS.items()}
    chain |= {"GAS_KEYS": desk.node.accounts[3].key, "GAS_COIN_USD": "base=10"}
    had = desk.received()
    [deaths] = killed_throughout("relay", payout_id=payout.public_id, chain=chain)
    assert deaths > 10
    assert GasTransaction.objects.get().succeeded
    assert desk.received() - had == UNITS
