"""Crediting a transfer: the claim, the payment, the sums, and what later blocks change."""

import pytest

from checkouts.models import Checkout, InboxItem, Payment
from checkouts.states import CheckoutStatus
from tests.checkouts.schema import alter
from tests.checkouts.watcher import DOLLAR, SOON, Watcher, assert_set_aside, attribute, credited, fresh, pay, received
from tests.factories import make_checkout
from wallets.models import Transfer, TransferClaim
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


# What keeps a transfer from being used twice.


CLAIM_KEY = "ALTER TABLE wallets_transferclaim DROP CONSTRAINT wallets_transferclaim_pkey"

PAYMENT_KEY = "ALTER TABLE checkouts_payment DROP CONSTRAINT checkouts_payment_transfer_id_key"


def test_a_transfer_that_paid_for_something_else_is_not_credited():
    checkout = make_checkout()
    transfer = Watcher().sees(checkout)
    TransferClaim.objects.create(transfer=transfer, kind=ClaimKind.X402, claimed_at=SOON)
    attribute()
    assert credited(checkout) == 0
    assert_set_aside(transfer)


def test_without_the_claims_key_a_transfer_would_pay_twice():
    """The negative control of the test above."""
    checkout = make_checkout()
    transfer = Watcher().sees(checkout)
    TransferClaim.objects.create(transfer=transfer, kind=ClaimKind.X402, claimed_at=SOON)
    alter(CLAIM_KEY)
    attribute()
    claims = TransferClaim.objects.filter(transfer=transfer)
    assert claims.count() == 2
    assert credited(checkout) == 1


def forget_the_decision(transfer: Transfer) -> None:
    """Put a credited transfer back on the queue as if it had never been decided."""
    Transfer.objects.filter(pk=transfer.pk).update(decided_at=None, queued_at=SOON)


def reopen(checkout: Checkout) -> Checkout:
    """A second checkout that takes over the address of a paid one."""
    nonce = bytes(checkout.deposit_nonce)
    Checkout.objects.filter(pk=checkout.pk).update(deposit_nonce=b"given away")
    other = make_checkout(checkout.merchant, offers=checkout.offers)
    Checkout.objects.filter(pk=other.pk).update(deposit_nonce=nonce)
    return other


@pytest.mark.parametrize(
    ("dropped", "refusal"),
    [([PAYMENT_KEY], "wallets_transferclaim_pkey"), ([CLAIM_KEY], "checkouts_payment_transfer_id_key")],
)
def test_the_claim_and_the_payment_each_refuse_a_second_credit_alone(dropped, refusal, caplog):
    checkout = make_checkout()
    transfer = pay(checkout)
    other = reopen(checkout)
    forget_the_decision(transfer)
    for statement in dropped:
        alter(statement)
    attribute()
    assert (credited(checkout), credited(other)) == (1, 0)
    assert_set_aside(transfer)
    assert refusal in caplog.text


def test_without_both_a_transfer_would_be_credited_twice():
    """The negative control of the test above."""
    checkout = make_checkout()
    transfer = pay(checkout)
    other = reopen(checkout)
    forget_the_decision(transfer)
    alter(CLAIM_KEY)
    alter(PAYMENT_KEY)
    attribute()
    assert (credited(checkout), credited(other)) == (1, 1)
    assert fresh(other).status == CheckoutStatus.COMPLETED
