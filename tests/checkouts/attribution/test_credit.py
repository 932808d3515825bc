"""Crediting a transfer: the claim, the payment, the sums, and what later blocks change."""

import pytest

from checkouts.models import InboxItem, Payment
from checkouts.states import CheckoutStatus
from tests.checkouts.watcher import DOLLAR, SOON, Watcher, attribute, credited, fresh, pay, received
from tests.factories import make_checkout
from wallets.models import Transfer
from wallets.states import ClaimKind, TransferState

pytestmark = pytest.mark.django_db


def test_a_transfer_is_credited_to_the_checkout_whose_address_it_went_to():
    wanted, other = make_checkout(), make_checkout()
    transfer = pay(wanted)
    payment = Payment.objects.get()
    assert (payment.checkout, payment.transfer) == (wanted, transfer)
    assert payment.reason == "sent to this checkout's own address"
    assert payment.credited_at == SOON
    assert fresh(wanted).status == CheckoutStatus.COMPLETED
    assert fresh(other).status == CheckoutStatus.PENDING
    assert not InboxItem.objects.exists()


def test_a_credited_transfer_is_claimed_decided_and_off_the_queue():
    transfer = pay(make_checkout())
    transfer.refresh_from_db()
    assert transfer.claim.kind == ClaimKind.CHECKOUT
    assert transfer.decided_at == SOON
    assert transfer.queued_at is None


def test_several_transfers_add_up_across_chains_and_tokens():
    checkout = make_checkout()
    base, polygon = Watcher("base"), Watcher("polygon")
    base.sees(checkout, 10 * DOLLAR)
    polygon.sees(checkout, 8 * DOLLAR)
    polygon.sees(checkout, 7 * DOLLAR, token="USDT")
    base.confirms()
    polygon.confirms()
    attribute()
    assert fresh(checkout).status == CheckoutStatus.COMPLETED
    assert received(checkout) == 25 * DOLLAR
    assert credited(checkout) == 3


def test_a_transfer_mined_again_in_another_block_stays_credited_once():
    checkout = make_checkout()
    watcher = Watcher()
    transfer = watcher.sees(checkout)
    attribute()
    watcher.finds_again(transfer)
    attribute()
    assert credited(checkout) == 1
    assert received(checkout) == 25 * DOLLAR


def test_confirming_a_credited_transfer_brings_its_checkout_along():
    checkout = make_checkout()
    watcher = Watcher()
    transfer = watcher.sees(checkout)
    attribute()
    assert fresh(checkout).status == CheckoutStatus.PROCESSING
    watcher.confirms()
    assert Transfer.objects.get().queued_at is not None
    assert attribute() == 1
    transfer.refresh_from_db()
    assert transfer.state == TransferState.CONFIRMED
    assert fresh(checkout).status == CheckoutStatus.COMPLETED
