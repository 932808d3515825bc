"""Every state that the hosted page can be in, made as rows, for pictures and for judges."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from django.utils import timezone

from checkouts.models import Checkout
from checkouts.reservations import note_exhausted
from checkouts.states import CheckoutException, CheckoutStatus, InboxReason, InboxStatus
from tests.checkouts.factories import (
    EXACT_OFFERS,
    make_closed,
    make_completed,
    make_exact_checkout,
    make_exact_choice,
    make_expired,
    make_overpaid,
    make_page_checkout,
    make_seen,
    make_test_checkout,
    make_underpaid,
    move,
    pay,
)
from tests.checkouts.questions import send, to_inbox
from tests.factories import make_live_chain, make_merchant


@dataclass(frozen=True, slots=True)
class State:
    """A checkout to make, and what comes after its code in the address of the page."""

    make: Callable[[], Checkout]
    rest: str = ""


def _reversed() -> Checkout:
    checkout = make_completed()
    return move(checkout, CheckoutStatus.COMPLETED, exception=CheckoutException.REVERSED)


def _paid_in_two_parts() -> Checkout:
    checkout = make_underpaid()
    pay(checkout, 29_000_000, confirmations=12)
    return move(checkout, CheckoutStatus.COMPLETED, exception=CheckoutException.NONE)


def _short_of_an_exact_amount() -> Checkout:
    checkout = make_exact_choice()
    pay(checkout, 20_000_000, confirmations=12, chain="tron", token="USDT")
    return move(checkout, CheckoutStatus.UNDERPAID, exception=CheckoutException.UNDERPAID)


def _retriable() -> Checkout:
    return make_expired(merchant=make_merchant(buyers_may_retry=True))


def _part_paid_and_expired() -> Checkout:
    checkout = make_closed()
    pay(checkout, 20_000_000, confirmations=12)
    return move(checkout, CheckoutStatus.EXPIRED, exception=CheckoutException.UNDERPAID)


def _accepted() -> Checkout:
    # Without a shop to return to, so that the page stays.
    checkout = make_underpaid(redirect_url="")
    return move(checkout, CheckoutStatus.COMPLETED, accepted_amount=20)


def _accepted_after_expiry() -> Checkout:
    checkout = _part_paid_and_expired()
    successor = make_completed(merchant=checkout.merchant, replaces=checkout)
    move(successor, CheckoutStatus.COMPLETED, exception=CheckoutException.UNDERPAID)
    return checkout


def _slow() -> Checkout:
    make_live_chain("base", height=10, head=99)
    return make_page_checkout()


def _down() -> Checkout:
    make_live_chain("base", halted_reason="two nodes disagree")
    return make_exact_checkout()


def _doubted() -> Checkout:
    checkout = make_completed()
    make_live_chain("base", halted_reason="a deep fork", doubted_above=0)
    return checkout


def _exhausted() -> Checkout:
    checkout = make_exact_checkout()
    note_exhausted(checkout.merchant_id, checkout.mode, checkout.amount, now=timezone.now())
    return checkout


def _only_exact() -> Checkout:
    return make_page_checkout(offers=EXACT_OFFERS)


def _told(checkout: Checkout, reason: InboxReason, status: InboxStatus = InboxStatus.OPEN) -> Checkout:
    """The checkout, with 14 USDC that did not pay it, four minutes after its time to pay."""
    late = send(checkout, 14_000_000, block_time=checkout.expires_at + timedelta(seconds=245))
    item = to_inbox(checkout, reason, late)
    item.status = status
    item.save(update_fields=["status"])
    return checkout


def _cancelled() -> Checkout:
    checkout = make_expired()
    return move(checkout, CheckoutStatus.EXPIRED, cancelled_at=checkout.expires_at)


def _held() -> Checkout:
    return make_completed(redirect_url="", escrow=True)


def _wordy() -> Checkout:
    name = "Vereinigte Kaffeeröstereien Donaudampfschifffahrtsgesellschaft & Söhne"
    return make_page_checkout(make_merchant(name=name), description="Guji" * 30, amount="123456789.99")


STATES = {
    "pending": State(make_page_checkout),
    "slow": State(_slow),
    "down": State(_down, "?chain=base"),
    "exhausted": State(_exhausted, "?chain=solana"),
    "no-network": State(lambda: make_page_checkout(offers={})),
    "wordy": State(_wordy),
    "underpaid": State(make_underpaid),
    "underpaid-exact": State(_short_of_an_exact_amount, "?chain=tron"),
    "seen": State(make_seen),
    # Without a shop to go back to, so that the pages hold still.
    "completed": State(lambda: make_completed(redirect_url="")),
    "overpaid": State(lambda: make_overpaid(redirect_url="")),
    "reversed": State(_reversed),
    "doubted": State(_doubted),
    "closed": State(make_closed),
    "expired": State(make_expired),
    "expired-retry": State(_retriable),
    "expired-part-paid": State(_part_paid_and_expired),
    "accepted": State(_accepted),
    "accepted-after-expiry": State(_accepted_after_expiry),
    "cancelled": State(_cancelled),
    "told-late": State(lambda: _told(make_expired(), InboxReason.LATE)),
    "told-cancelled": State(lambda: _told(_cancelled(), InboxReason.LATE)),
    "told-extra": State(lambda: _told(make_completed(redirect_url=""), InboxReason.EXTRA)),
    "told-sent-back": State(lambda: _told(make_completed(redirect_url=""), InboxReason.EXTRA, InboxStatus.REFUNDED)),
    "told-closed": State(lambda: _told(make_expired(), InboxReason.LATE, InboxStatus.DISMISSED)),
    "held": State(_held),
    "receipt-held": State(_held, "/receipt"),
    "test-mode": State(make_test_checkout),
    "exact-amount": State(make_test_checkout, "?chain=tron"),
    "exact-asked": State(_only_exact),
    "exact-solana": State(make_exact_choice, "?chain=solana"),
    "exact-ton": State(make_exact_choice, "?chain=ton"),
    "exact-tron": State(make_exact_choice, "?chain=tron"),
    "exact-ethereum": State(make_exact_choice, "?chain=ethereum"),
    "receipt": State(make_completed, "/receipt"),
    "receipt-two-parts": State(_paid_in_two_parts, "/receipt"),
    "receipt-overpaid": State(make_overpaid, "/receipt"),
    "receipt-reversed": State(_reversed, "/receipt"),
    "receipt-doubted": State(_doubted, "/receipt"),
}
