"""Payments of machines whose money left its forwarder."""

from typing import Any

import pytest
from django.utils import timezone

from accounts.models import Merchant
from tests.x402.recorded import UNITS, make_machine_transfer, make_seller, verify_it
from wallets.models import DepositOutflow, Transfer
from wallets.states import TransferState
from x402.models import X402Payment
from x402.payments.rechecks import note_arrivals
from x402.payments.transfers import follow_transfers

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("no_bells")]


def paid(merchant: Merchant, settings: Any) -> Transfer:
    """A final payment in block 990."""
    transfer = make_machine_transfer(merchant, make_seller(merchant, settings))
    assert verify_it(transfer)["valid"] is True
    now = timezone.now()
    Transfer.objects.filter(pk=transfer.pk).update(state=TransferState.CONFIRMED, confirmed_at=now, queued_at=now)
    follow_transfers(now=now)
    return transfer


def flush(transfer: Transfer, *, height: int, units: int = UNITS, **values: Any) -> None:
    now = timezone.now()
    assert transfer.deposit is not None
    given = {"state": TransferState.CONFIRMED, "confirmed_at": now, "token": "USDC"}
    DepositOutflow.objects.create(
        deposit=transfer.deposit,
        chain="base",
        tx_hash="0x" + "cd" * 32,
        position=0,
        units=units,
        recipient="0x" + "11" * 20,
        block_height=height,
        block_hash="0x" + "ef" * 32,
        block_time=now,
        detected_at=now,
        **(given | values),
    )


def status() -> str:
    note_arrivals(now=timezone.now())
    return X402Payment.objects.get().status


def test_a_payment_settles_once_its_forwarder_was_flushed_after_it(merchant: Merchant, settings: Any) -> None:
    transfer = paid(merchant, settings)
    assert status() == "verified"
    flush(transfer, height=991)
    assert status() == "settled"
    assert X402Payment.objects.get().settled_at is not None


@pytest.mark.parametrize(
    "values",
    [
        {"height": 989},
        {"height": 991, "token": "USDT"},
        {"height": 991, "state": TransferState.DETECTED, "confirmed_at": None},
        {"height": 990, "units": 1},
    ],
)
def test_other_flushes_settle_nothing(merchant: Merchant, settings: Any, values: dict[str, Any]) -> None:
    flush(paid(merchant, settings), **values)
    assert status() == "verified"


def test_in_the_same_block_an_empty_forwarder_tells(merchant: Merchant, settings: Any) -> None:
    flush(paid(merchant, settings), height=990)
    assert status() == "settled"
