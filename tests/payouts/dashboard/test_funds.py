"""What a merchant is told it has before it pays: balance, what is missing, what waits in deposit addresses; and escrow first."""

import pytest

from accounts.states import Mode
from gateway.core.api.errors import ConflictError
from payouts.models import Payout
from payouts.states import PayoutStatus
from settlements.models import Hold
from tests.checkouts.inboxes import late_item
from tests.checkouts.watcher import DOLLAR, pay
from tests.dashboard.people import Desk
from tests.factories import NOON, make_checkout, make_wallet
from tests.payouts.factories import BUYER, approved, make_paid, make_payout, outflow_for, refund_of
from tests.wallets.days import make_watched
from tests.wallets.watched_wallets import hold
from wallets.models import DepositTotal, Transfer, WatchedWallet
from wallets.states import TransferState

pytestmark = pytest.mark.usefixtures("db", "still_noon", "local_nodes")


@pytest.fixture
def watched(owner: Desk) -> WatchedWallet:
    """The receiving wallet on Base, watched."""
    return make_watched(owner.merchant, make_wallet(owner.merchant).address)


def to_pay(desk: Desk) -> str:
    return " ".join(desk.get("dashboard_payouts", "?status=pay").text.split())


def test_what_the_wallet_lacks_and_what_waits_to_be_settled_is_told(owner: Desk, watched: WatchedWallet) -> None:
    payouts = [approved(make_payout(owner.merchant, 50 * DOLLAR)) for _ in range(2)]
    hold(watched, 88 * DOLLAR)
    values = {"merchant": owner.merchant, "purpose": "checkout", "chain": "base", "token": "USDC"}
    DepositTotal.objects.create(received=310 * DOLLAR, flushed=10 * DOLLAR, **values)
    [group] = owner.get("dashboard_payouts", "?status=pay").context["groups"]
    assert (group.total, group.funds.balance, group.funds.short, group.funds.waiting) == (
        "100.00",
        "88.00",
        "12.00",
        "300.00",
    )
    page = to_pay(owner)
    assert 'short by <span class="number">12.00 USDC</span>' in page
    assert f'href="{owner.url("dashboard_settlements")}">settle first</a>' in page
    chosen = owner.post("dashboard_pay_payouts", {"payout": [payouts[0].public_id]}).text
    assert "Your receiving wallet holds" in chosen
    assert "short by" not in chosen


def test_without_a_balance_nothing_is_said_nor_in_test_mode(owner: Desk, watched: WatchedWallet) -> None:
    approved(make_payout(owner.merchant))
    assert "Your receiving wallet" not in to_pay(owner)
    hold(watched, DOLLAR, "USDT")
    assert "Your receiving wallet" not in to_pay(owner)
    Payout.objects.update(mode=Mode.TEST)
    hold(watched, DOLLAR)
    assert "Your receiving wallet" not in to_pay(Desk(owner.client, owner.merchant, owner.user, Mode.TEST))


def test_a_refund_on_its_way_says_that_its_payment_is_gone(owner: Desk) -> None:
    payout = approved(refund_of(make_paid(owner.merchant), address=BUYER).payout)
    outflow_for(payout)
    Transfer.objects.update(state=TransferState.ORPHANED)
    words = "The network took back the payment that this refund returns."
    assert words not in owner.get("dashboard_payout", payout_id=payout.public_id).text
    Payout.objects.update(status=PayoutStatus.SENDING)
    assert words in owner.get("dashboard_payout", payout_id=payout.public_id).text


# Escrow.


def test_money_in_escrow_is_released_before_it_is_refunded(owner: Desk) -> None:
    checkout = make_checkout(owner.merchant, escrow=True)
    pay(checkout, 25 * DOLLAR)
    page = owner.get("dashboard_checkout", checkout_id=checkout.public_id).text
    assert "To give it back to the buyer, release it first." in " ".join(page.split())
    link = owner.url("dashboard_refund", checkout_id=checkout.public_id)
    assert link not in page
    with pytest.raises(ConflictError, match="Release it first"):
        refund_of(checkout)
    assert owner.get("dashboard_refund", checkout_id=checkout.public_id).status_code == 302
    Hold.objects.update(released_at=NOON, released_by="api")
    page = owner.get("dashboard_checkout", checkout_id=checkout.public_id).text
    assert link in page
    assert "you pay the buyer from that wallet" in " ".join(page.split())
    assert refund_of(checkout).payout.status == PayoutStatus.OPEN


def test_late_money_is_held_with_its_checkout(owner: Desk) -> None:
    item = late_item(merchant=owner.merchant, escrow=True)
    assert item.checkout
    with pytest.raises(ConflictError, match="held in escrow"):
        refund_of(item.checkout)
    Hold.objects.update(released_at=NOON, released_by="api")
    assert refund_of(item.checkout).payout.status == PayoutStatus.OPEN
