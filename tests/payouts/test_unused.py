"""Refunds of money that came to an address for machines, and with which nothing was paid: no proof uses it any more."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import Merchant
from accounts.states import Mode
from gateway.core.api.errors import ConflictError
from payouts.lifecycle.service import Terms, cancel_payout, request_refund
from payouts.lifecycle.sources import Source
from payouts.models import Payout
from tests.payouts.factories import BUYER
from tests.x402.recorded import UNITS, make_machine_transfer, make_seller, request_for, verify_it
from wallets.models import Transfer, TransferClaim, TransferReturn
from wallets.states import TransferState
from webhooks.models import Event
from x402.models import Authorization, X402Payment
from x402.payments import transfers
from x402.payments.claims import Caller, read_records, use_up
from x402.payments.rechecks import recheck_payments

pytestmark = pytest.mark.django_db
# A proof that finds its transfer claimed ends its transaction, which a test's is not to be.
COMMITTED = pytest.mark.django_db(transaction=True)


@pytest.fixture
def transfer(owned_merchant: Merchant, settings: Any) -> Transfer:
    """What a machine sent, final, and that nothing was paid with."""
    final: dict[str, Any] = {"state": TransferState.CONFIRMED, "confirmed_at": timezone.now(), "queued_at": None}
    return make_machine_transfer(owned_merchant, make_seller(owned_merchant, settings), **final)


def refund(transfer: Transfer) -> Payout:
    """Ask for a refund of all that is left of a transfer."""
    source = Source(chain=transfer.chain, tx_hash=transfer.tx_hash, position=transfer.position)
    terms = Terms(address=BUYER)
    return request_refund(transfer.merchant, mode=Mode.LIVE, source=source, terms=terms, now=timezone.now()).payout


def claims() -> list[str]:
    """What the transfers are claimed for."""
    return list(TransferClaim.objects.values_list("kind", flat=True))


@COMMITTED
def test_money_that_paid_for_nothing_is_sent_back_and_then_proves_nothing(transfer: Transfer) -> None:
    payout = refund(transfer)
    assert payout.sources.get().transfer == transfer
    assert int(TransferReturn.objects.get().reserved) == UNITS
    assert claims() == ["refund"]
    assert verify_it(transfer)["reason"] == "already_used"
    assert not X402Payment.objects.exists()


@COMMITTED
def test_a_refund_that_was_cancelled_leaves_money_that_only_a_refund_uses(transfer: Transfer) -> None:
    cancel_payout(refund(transfer), now=timezone.now())
    assert verify_it(transfer)["reason"] == "already_used"
    assert int(refund(transfer).units) == UNITS


@COMMITTED
def test_another_transfer_of_the_transaction_still_pays(transfer: Transfer) -> None:
    final: dict[str, Any] = {"state": TransferState.CONFIRMED, "confirmed_at": timezone.now(), "queued_at": None}
    other = make_machine_transfer(transfer.merchant, transfer.recipient, tx_hash=transfer.tx_hash, position=1, **final)
    refund(transfer)
    assert verify_it(other)["valid"]
    assert X402Payment.objects.get().position == 1


def test_what_a_machine_paid_with_stays_its_payment_when_it_is_sent_back(transfer: Transfer) -> None:
    assert verify_it(transfer)["valid"]
    refund(transfer)
    assert claims() == ["x402"]
    assert X402Payment.objects.get().status == "verified"


def test_money_that_is_not_final_is_neither_sent_back_nor_claimed(transfer: Transfer) -> None:
    Transfer.objects.update(state=TransferState.DETECTED, confirmed_at=None)
    with pytest.raises(ConflictError, match="not final yet"):
        refund(transfer)
    assert claims() == []
    assert verify_it(transfer)["valid"]


def test_what_a_signed_authorisation_may_have_moved_is_not_sent_back(transfer: Transfer) -> None:
    now = timezone.now()
    authorization = Authorization.objects.create(
        merchant=transfer.merchant,
        mode=Mode.LIVE,
        chain=transfer.chain,
        token=transfer.token,
        payer=transfer.sender,
        nonce="1",
        pay_to=transfer.recipient,
        units=transfer.units,
        state="sent",
        created_at=now,
    )
    with pytest.raises(ConflictError, match="not processed yet"):
        refund(transfer)
    assert claims() == []
    Authorization.objects.filter(pk=authorization.pk).update(created_at=now - timedelta(hours=3))
    refund(transfer)
    assert claims() == ["refund"]


def proved_on_a_nodes_word(transfer: Transfer) -> bool:
    """Use a payment up whose transfer its request did not find recorded; return whether it is valid."""
    now, asked = timezone.now(), request_for(transfer)
    [judged] = read_records(transfer.merchant_id, asked.proof, now=now).facts.candidates
    unrecorded = replace(judged, transfer_id=None, is_final=False)
    return use_up(Caller(transfer.merchant_id, Mode.LIVE), asked, unrecorded, now=now) is not None


def test_a_payment_that_is_not_with_its_transfer_yet_is_not_sent_back_as_if_unused(transfer: Transfer) -> None:
    assert proved_on_a_nodes_word(transfer)
    with pytest.raises(ConflictError, match="not processed yet"):
        refund(transfer)
    recheck_payments(now=timezone.now())
    assert claims() == ["x402"]
    assert int(refund(transfer).units) == UNITS


def test_a_payment_on_a_nodes_word_of_money_that_goes_back_is_reversed(transfer: Transfer) -> None:
    refund(transfer)
    assert proved_on_a_nodes_word(transfer)
    recheck_payments(now=timezone.now())
    payment = X402Payment.objects.get()
    assert (payment.status, payment.transfer) == ("reversed", None)
    assert Event.objects.filter(type="x402.payment.reversed").count() == 1
    assert claims() == ["refund"]
    # The watcher's next change of the transfer does not bring it back.
    Transfer.objects.update(queued_at=timezone.now())
    transfers.follow_transfers(now=timezone.now())
    payment.refresh_from_db()
    assert payment.status == "reversed"


def test_without_a_look_at_the_claim_a_payment_of_money_that_goes_back_would_stand(
    transfer: Transfer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfers, "_refunded", lambda _: frozenset())
    refund(transfer)
    assert proved_on_a_nodes_word(transfer)
    recheck_payments(now=timezone.now())
    assert X402Payment.objects.get().status == "verified"
    assert claims() == ["refund"]
