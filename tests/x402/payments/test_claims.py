"""What is recorded is decided by one statement; what anything speaks against is looked at more closely."""

from collections import Counter
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import FeeEntry, Merchant
from accounts.states import Mode
from gateway.core.api.errors import UnavailableError
from tests.factories import make_merchant
from tests.x402.recorded import UNITS, make_machine_transfer, make_seller, request_for, verify_it
from wallets.models import ChainCursor, Transfer, TransferClaim
from x402.models import Authorization, KeptAnswer, MachineSettings, X402Payment
from x402.payments.claims import Caller, use_recorded

pytestmark = pytest.mark.django_db

STRANGER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"


@pytest.fixture
def seller(merchant: Merchant, settings: Any) -> str:
    """Where they pay, on Base."""
    return make_seller(merchant, settings)


def final(merchant: Merchant, to: str, **overrides: Any) -> Transfer:
    """A transfer that its watcher recorded as final, eleven blocks below the newest."""
    values: dict[str, Any] = {"state": "confirmed", "confirmed_at": timezone.now()}
    return make_machine_transfer(merchant, to, **(values | overrides))


def used_at_once(transfer: Transfer, **values: Any) -> bool:
    """Whether the one statement uses a payment up for a request that claims it as it is."""
    caller = Caller(transfer.merchant_id, Mode.LIVE)
    request = request_for(transfer, **values)
    return use_recorded(caller, request, now=timezone.now()) is not None


def rows_of_each_table() -> Counter[str]:
    """How many rows each model has."""
    return Counter({model.__name__: model._default_manager.count() for model in apps.get_models()})


@pytest.mark.parametrize("key", ["", "order-7"])
def test_a_payment_of_a_tenth_of_a_cent_keeps_these_rows(merchant: Merchant, seller: str, key: str) -> None:
    """Decision 36 names them. Its transfer is the watcher's row."""
    transfer = final(merchant, seller, units=1_000)
    before = rows_of_each_table()
    assert verify_it(transfer, key=key, price=1_000)["valid"]
    kept = rows_of_each_table() - before
    assert kept.pop("KeptAnswer", 0) == bool(key)
    # Folded into one row a day.
    for days in ("FeeDay", "TransferDay"):
        kept.pop(days, 0)
    assert kept == {"X402Payment": 1, "TransferClaim": 1, "FeeEntry": 1}
    assert FeeEntry.objects.get().amount == Decimal("0.000015")


@pytest.mark.parametrize("key", ["", "order-7"])
def test_a_payment_recorded_as_final_costs_one_statement(merchant: Merchant, seller: str, key: str) -> None:
    transfer = final(merchant, seller)
    verify_it(final(merchant, seller))
    with CaptureQueriesContext(connection) as queries:
        told = verify_it(transfer, key=key)
    # What a transaction may have written is not remembered, and every test is one.
    asked = [one for one in queries if "x402_forwarder" not in one["sql"]]
    assert len(asked) == 1
    assert (told["valid"], told["confirmations"]) == (True, 11)
    payment = X402Payment.objects.latest("id")
    assert (told["paymentId"], payment.transfer) == (payment.public_id, transfer)
    assert payment.final_at == payment.verified_at
    fee = FeeEntry.objects.get(subject_id=payment.public_id)
    assert fee.received == UNITS / 10**6
    assert TransferClaim.objects.get(transfer=transfer).kind == "x402"
    assert [kept.answer for kept in KeptAnswer.objects.all()] == [told] * bool(key)


def test_what_is_not_final_is_used_at_once_where_it_is_deep_enough(merchant: Merchant, seller: str) -> None:
    transfer = make_machine_transfer(merchant, seller, block_height=999)
    assert not used_at_once(transfer)
    Transfer.objects.update(block_height=998)
    told = verify_it(transfer)
    assert (told["valid"], told["confirmations"]) == (True, 3)
    payment = X402Payment.objects.get()
    assert (payment.transfer, payment.final_at) == (transfer, None)


@pytest.mark.parametrize(
    "change",
    [
        {"state": "orphaned", "confirmed_at": None},
        {"sender": STRANGER},
        {"recipient": STRANGER},
        {"token": "USDT"},
        {"units": UNITS - 1},
        {"purpose": "checkout"},
        {"mode": Mode.TEST},
        {"chain": "polygon"},
        {"block_time": timezone.now() - timedelta(minutes=61)},
    ],
    ids=lambda change: " ".join(change),
)
def test_what_is_not_what_was_asked_for_is_not_used_at_once(
    merchant: Merchant, seller: str, change: dict[str, Any]
) -> None:
    transfer = final(merchant, seller)
    Transfer.objects.update(**change)
    assert not used_at_once(transfer)
    assert not X402Payment.objects.exists()
    usual = {name: getattr(transfer, name) for name in change}
    Transfer.objects.update(**usual)
    assert used_at_once(transfer)


def test_more_than_was_paid_is_not_used_at_once(merchant: Merchant, seller: str) -> None:
    transfer = final(merchant, seller)
    assert not used_at_once(transfer, price=UNITS + 1)
    assert used_at_once(transfer, price=UNITS - 1)


def test_another_merchant_s_payment_is_not_used_at_once(merchant: Merchant, seller: str) -> None:
    transfer = final(merchant, seller)
    stranger = Caller(make_merchant("Another").pk, Mode.LIVE)
    assert use_recorded(stranger, request_for(transfer), now=timezone.now()) is None
    tester = Caller(merchant.pk, Mode.TEST)
    assert use_recorded(tester, request_for(transfer), now=timezone.now()) is None


def test_what_a_halted_chain_may_have_lost_is_asked_of_a_node(merchant: Merchant, seller: str) -> None:
    transfer = final(merchant, seller)
    halted = ChainCursor.objects.filter(chain="base")
    halted.update(halted_reason="a fork", halted_at=timezone.now(), doubted_above=989)
    assert not used_at_once(transfer)
    with pytest.raises(UnavailableError):
        verify_it(transfer)
    assert not X402Payment.objects.exists()
    # What is older than the fork is as good as ever.
    halted.update(doubted_above=990)
    assert verify_it(transfer)["valid"]


def test_where_signatures_are_wanted_an_unsigned_proof_is_not_used_at_once(merchant: Merchant, seller: str) -> None:
    transfer = final(merchant, seller)
    wanted = MachineSettings.objects.create(merchant=merchant, requires_signature=True)
    assert not used_at_once(transfer)
    wanted.delete()
    assert used_at_once(transfer)


def test_what_an_authorisation_in_hand_may_have_moved_is_not_used_at_once(merchant: Merchant, seller: str) -> None:
    transfer = final(merchant, seller)
    authorization = Authorization.objects.create(
        merchant=merchant,
        mode=Mode.LIVE,
        chain="base",
        token="USDC",
        payer=transfer.sender,
        nonce="1",
        pay_to=seller,
        units=UNITS,
        state="sent",
        created_at=timezone.now(),
    )
    assert not used_at_once(transfer)
    # Another one in the same transaction is money of its own.
    other = final(merchant, seller, tx_hash=transfer.tx_hash, position=1, units=UNITS + 1)
    assert used_at_once(transfer)
    assert X402Payment.objects.get().transfer == other
    assert not used_at_once(transfer)
    authorization.delete()
    assert used_at_once(transfer)


def test_of_equal_transfers_of_one_transaction_each_pays_once(merchant: Merchant, seller: str) -> None:
    first = final(merchant, seller)
    final(merchant, seller, tx_hash=first.tx_hash, position=1)
    told = [verify_it(first).get("reason", "valid") for _ in range(3)]
    assert told == ["valid", "valid", "already_used"]
    assert set(X402Payment.objects.values_list("position", flat=True)) == {0, 1}
