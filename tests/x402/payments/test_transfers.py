"""Payments after they were verified: final, reversed, and back."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import orjson
import pytest
from django.utils import timezone

from accounts.models import FeeEntry, Membership, Merchant
from accounts.states import Role
from demo.localnet.anvil import Anvil
from mails.models import OutgoingMail as Mail
from tests.contract.client import ApiClient
from tests.factories import make_merchant, make_user
from tests.wallets.factories import make_watcher, read_all
from tests.x402.calls import (
    ask,
    verdict,
)
from tests.x402.payers import paid
from tests.x402.recorded import (
    UNITS,
    make_machine_transfer,
    make_seller,
    verify_it,
)
from wallets.models import ChainCursor, Transfer, TransferClaim
from wallets.states import ClaimKind
from webhooks.models import Event
from x402.models import X402Payment
from x402.payments import transfers
from x402.payments.rechecks import (
    PATIENCE,
    recheck_payments,
)
from x402.payments.transfers import follow_transfers

pytestmark = pytest.mark.django_db

SOON = timedelta(seconds=30)


@pytest.fixture
def merchant(settings: Any) -> Merchant:
    """A merchant with an owner."""
    settings.TRANSFER_CONSUMERS = []
    made = make_merchant()
    Membership.objects.create(merchant=made, user=make_user(), role=Role.OWNER)
    return made


@pytest.fixture
def transfer(merchant: Merchant, settings: Any) -> Transfer:
    """Recorded twelve blocks deep, and verified."""
    found = make_machine_transfer(merchant, make_seller(merchant, settings))
    assert verify_it(found)["valid"] is True
    follow()
    return found


def follow() -> X402Payment | None:
    follow_transfers(now=timezone.now())
    assert not Transfer.objects.queued(ClaimKind.X402).exists()
    return X402Payment.objects.first()


def becomes(transfer: Transfer, state: str, **values: Any) -> X402Payment:
    """Let the watcher move a transfer, and follow it."""
    now = timezone.now()
    times = {"confirmed": "confirmed_at", "orphaned": "orphaned_at"}
    if state in times:
        values[times[state]] = now
    Transfer.objects.filter(pk=transfer.pk).update(state=state, queued_at=now, **values)
    payment = follow()
    assert payment is not None
    return payment


def _fees(payment: X402Payment) -> Decimal:
    """What it costs its merchant by now."""
    amounts = FeeEntry.objects.filter(subject_id=payment.public_id)
    return sum(amounts.values_list("amount", flat=True), Decimal(0))


def test_a_payment_becomes_final_with_its_transfer(transfer: Transfer) -> None:
    payment = becomes(transfer, "confirmed")
    assert payment.final_at is not None
    assert (payment.status, payment.settled_at) == ("verified", None)


def test_what_a_reorganisation_takes_is_reversed_told_and_not_charged(
    transfer: Transfer,
) -> None:
    payment = becomes(transfer, "orphaned")
    assert (payment.status, payment.final_at) == ("reversed", None)
    assert _fees(payment) == 0 < FeeEntry.objects.count()
    event = Event.objects.get()
    assert event.type == "x402.payment.reversed"
    body = orjson.loads(bytes(event.body))
    assert body["data"]["id"] == payment.public_id
    assert body["data"]["status"] == "reversed"
    assert payment.public_id in Mail.objects.get().subject


def test_what_comes_back_stands_again(transfer: Transfer) -> None:
    becomes(transfer, "orphaned")
    payment = becomes(transfer, "detected", block_height=995)
    assert (payment.status, payment.block_height) == ("verified", 995)
    assert _fees(payment) > 0
    assert verify_it(transfer)["reason"] == "already_used"
    types = Event.objects.order_by("sequence").values_list("type", flat=True)
    assert list(types) == ["x402.payment.reversed", "x402.payment.returned"]
    assert becomes(transfer, "confirmed").final_at is not None


def test_what_comes_back_with_less_is_reversed(transfer: Transfer) -> None:
    payment = becomes(transfer, "detected", units=UNITS - 1)
    assert payment.status == "reversed"


def test_what_nobody_asked_about_leaves_the_queue_and_stays_verifiable(
    merchant: Merchant, settings: Any
) -> None:
    transfer = make_machine_transfer(merchant, make_seller(merchant, settings))
    assert follow() is None
    assert not TransferClaim.objects.exists()
    assert verify_it(transfer)["valid"] is True


def test_a_transfer_that_fails_holds_up_no_other(
    merchant: Merchant, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    to = make_seller(merchant, settings)
    bad, good = (make_machine_transfer(merchant, to) for _ in range(2))
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


def test_a_payment_is_linked_when_its_watcher_reads_it(
    base: Anvil, seller: ApiClient
) -> None:
    claim = paid(base, seller)
    watcher = make_watcher(base.url)
    read_all(watcher)
    Transfer.objects.all().delete()
    ChainCursor.objects.update(height=None, block_hash="")
    assert verdict(seller, claim) == "valid"
    assert X402Payment.objects.get().transfer is None
    base.mine(6)
    read_all(make_watcher(base.url))
    follow_transfers(now=timezone.now())
    payment = X402Payment.objects.get()
    assert payment.transfer is not None
    assert TransferClaim.objects.get().transfer == payment.transfer
    assert payment.final_at is not None


def test_a_real_reorganisation_reverses_a_verified_payment(
    base: Anvil, seller: ApiClient
) -> None:
    base.mine(12)
    read_all(make_watcher(base.url))
    claim = paid(base, seller)
    watcher = make_watcher(base.url)
    read_all(watcher)
    assert ask(seller, claim).body["valid"] is True
    base.reorg(4)
    base.mine(3)
    read_all(watcher)
    follow_transfers(now=timezone.now())
    assert X402Payment.objects.get().status == "reversed"
    line = seller.get("/x402/payments", {"status": "reversed"}).body["data"][0]
    assert line["reversed_at"] is not None
    assert ask(seller, claim).body["valid"] is False


@pytest.fixture
def unrecorded(merchant: Merchant, settings: Any) -> X402Payment:
    """Verified by what a node told, and never recorded by the watcher that read past it."""
    to = make_seller(merchant, settings)
    now = timezone.now()
    return X402Payment.objects.create(
        merchant=merchant,
        mode="live",
        protocol="hash",
        chain="base",
        tx_hash="0x" + "5a" * 32,
        position=0,
        token="USDC",
        units=UNITS,
        required_units=UNITS,
        payer=to,
        pay_to=to,
        block_height=900,
        block_time=now,
        verified_at=now,
    )


def recheck(payment: X402Payment, after: timedelta) -> str:
    recheck_payments(now=payment.verified_at + after)
    payment.refresh_from_db()
    return payment.status


def test_what_no_watcher_ever_records_is_reversed(unrecorded: X402Payment) -> None:
    """A node that lies must not give resources away for ever. Where none answers, the watcher is waited for."""
    assert recheck(unrecorded, SOON) == "verified"
    assert recheck(unrecorded, PATIENCE) == "verified"
    assert recheck(unrecorded, PATIENCE + SOON) == "reversed"
    assert Event.objects.get().type == "x402.payment.reversed"


def test_what_no_node_knows_any_more_is_reversed_at_once(
    unrecorded: X402Payment, base_node: Anvil, settings: Any
) -> None:
    settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": base_node.url}
    assert recheck(unrecorded, timedelta(minutes=2)) == "reversed"


@pytest.mark.parametrize(
    "cursor",
    [{"height": 905}, {"first_height": 950}, {"halted_reason": "somebody looks"}],
    ids=["not far enough", "begun later", "halted"],
)
def test_a_watcher_that_could_not_have_read_it_says_nothing(
    unrecorded: X402Payment, cursor: dict[str, Any]
) -> None:
    ChainCursor.objects.update(**cursor)
    assert recheck(unrecorded, 4 * PATIENCE) == "verified"
