"""Payments after they were verified: final, reversed, and back."""

from decimal import Decimal
from typing import Any

import orjson
import pytest
from django.utils import timezone

from accounts.models import FeeEntry, Merchant
from localnet.anvil import Anvil
from mails.models import OutgoingMail as Mail
from tests.contract.client import ApiClient
from tests.wallets.factories import make_watcher, read_all
from tests.x402.calls import ask, verdict
from tests.x402.payers import paid
from tests.x402.payments.following import becomes, follow
from tests.x402.recorded import UNITS, make_machine_transfer, make_seller, verify_it
from wallets.models import ChainCursor, Transfer, TransferClaim
from webhooks.models import Event
from x402.models import X402Payment
from x402.payments import transfers
from x402.payments.transfers import follow_transfers

pytestmark = pytest.mark.django_db


def _fees(payment: X402Payment) -> Decimal:
    """What it costs its merchant by now."""
    amounts = FeeEntry.objects.filter(subject_id=payment.public_id)
    return sum(amounts.values_list("amount", flat=True), Decimal(0))


def test_a_payment_becomes_final_with_its_transfer(verified_transfer: Transfer) -> None:
    payment = becomes(verified_transfer, "confirmed")
    assert payment.final_at is not None
    assert (payment.status, payment.settled_at) == ("verified", None)


def test_what_comes_back_stands_again(verified_transfer: Transfer) -> None:
    becomes(verified_transfer, "orphaned")
    payment = becomes(verified_transfer, "detected", block_height=995)
    assert (payment.status, payment.block_height) == ("verified", 995)
    assert _fees(payment) > 0
    assert verify_it(verified_transfer)["reason"] == "already_used"
    types = Event.objects.order_by("sequence").values_list("type", flat=True)
    assert list(types) == ["x402.payment.reversed", "x402.payment.returned"]
    assert becomes(verified_transfer, "confirmed").final_at is not None


def test_what_comes_back_with_less_is_reversed(verified_transfer: Transfer) -> None:
    payment = becomes(verified_transfer, "detected", units=UNITS - 1)
    assert payment.status == "reversed"


def test_what_nobody_asked_about_leaves_the_queue_and_stays_verifiable(owned_merchant: Merchant, settings: Any) -> None:
    transfer = make_machine_transfer(owned_merchant, make_seller(owned_merchant, settings))
    assert follow() is None
    assert not TransferClaim.objects.exists()
    assert verify_it(transfer)["valid"] is True


def test_a_transfer_that_fails_holds_up_no_other(
    owned_merchant: Merchant, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    to = make_seller(owned_merchant, settings)
    bad, good = (make_machine_transfer(owned_merchant, to) for _ in range(2))
    for one in (bad, good):
        assert verify_it(one)["valid"] is True
    Transfer.objects.update(state="confirmed", confirmed_at=timezone.now())
    whole = transfers._is_of

    def fails(payment: X402Payment, transfer: Transfer) -> bool:
        if transfer.pk == bad.pk:
            raise ValueError("nobody foresaw this")
        return whole(payment, transfer)

    monkeypatch.setattr(transfers, "_is_of", fails)
    now = timezone.now()
    follow_transfers(now=now)
    assert X402Payment.objects.get(transfer=good).final_at == now
    assert Transfer.objects.filter(pk=bad.pk, queued_at__gt=now).exists()


def test_a_payment_is_linked_when_its_watcher_reads_it(base: Anvil, base_seller: ApiClient) -> None:
    claim = paid(base, base_seller)
    watcher = make_watcher(base.url)
    read_all(watcher)
    Transfer.objects.all().delete()
    ChainCursor.objects.update(height=None, block_hash="")
    assert verdict(base_seller, claim) == "valid"
    assert X402Payment.objects.get().transfer is None
    base.mine(6)
    read_all(make_watcher(base.url))
    follow_transfers(now=timezone.now())
    payment = X402Payment.objects.get()
    assert payment.transfer is not None
    assert TransferClaim.objects.get().transfer == payment.transfer
    assert payment.final_at is not None


def test_a_real_reorganisation_reverses_a_verified_payment(base: Anvil, base_seller: ApiClient) -> None:
    base.mine(12)
    read_all(make_watcher(base.url))
    claim = paid(base, base_seller)
    watcher = make_watcher(base.url)
    read_all(watcher)
    assert ask(base_seller, claim).body["valid"] is True
    base.reorg(4)
    base.mine(3)
    read_all(watcher)
    follow_transfers(now=timezone.now())
    assert X402Payment.objects.get().status == "reversed"
    line = base_seller.get("/x402/payments", {"status": "reversed"}).body["data"][0]
    assert line["reversed_at"] is not None
    assert ask(base_seller, claim).body["valid"] is False


def test_what_a_reorganisation_takes_is_reversed_told_and_not_charged(verified_transfer: Transfer) -> None:
    payment = becomes(verified_transfer, "orphaned")
    assert (payment.status, payment.final_at) == ("reversed", None)
    assert _fees(payment) == 0 < FeeEntry.objects.count()
    event = Event.objects.get()
    assert event.type == "x402.payment.reversed"
    body = orjson.loads(bytes(event.body))
    assert body["data"]["id"] == payment.public_id
    assert body["data"]["status"] == "reversed"
    assert payment.public_id in Mail.objects.get().subject
