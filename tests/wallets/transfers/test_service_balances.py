"""What deposit addresses hold, as triggers keep it."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from tests.wallets.factories import make_deposit
from tests.wallets.transfers.test_service import new_transfer
from wallets.models import DepositAddress, DepositBalance, DepositOutflow, DepositTotal, Transfer
from wallets.states import TransferState
from wallets.transfers.service import confirm_through, orphan_above, record_transfers

pytestmark = pytest.mark.django_db
HASH = "0x" + "ab" * 32


def record(deposit: DepositAddress, tx_hash: str, units: int, *, height: int) -> None:
    paid = new_transfer(deposit, tx_hash=tx_hash, units=units, block_height=height, block_hash=HASH)
    record_transfers([paid], now=timezone.now())


def flush(deposit: DepositAddress, units: int, **values: Any) -> DepositOutflow:
    now = timezone.now()
    given = {"state": TransferState.CONFIRMED, "confirmed_at": now, "tx_hash": "0xf"}
    return DepositOutflow.objects.create(
        deposit=deposit,
        chain="base",
        position=0,
        token="USDC",
        units=units,
        recipient="0x" + "33" * 20,
        block_height=20,
        block_hash=HASH,
        block_time=now,
        detected_at=now,
        **(given | values),
    )


def balances() -> list[tuple[Decimal, Decimal]]:
    rows = DepositBalance.objects.order_by("deposit")
    kept = list(rows.values_list("received", "flushed"))
    totals = DepositTotal.objects.values_list("received", "flushed")
    assert [tuple(map(sum, zip(*kept, strict=True)))] == list(totals) or not kept
    return kept


def test_only_what_is_final_counts() -> None:
    deposit = make_deposit()
    record(deposit, "0x1", 25, height=10)
    assert balances() == []
    confirm_through("base", 10, now=timezone.now())
    record(deposit, "0x2", 7, height=11)
    assert balances() == [(25, 0)]


def test_what_a_reorganisation_takes_and_gives_back_counts_once() -> None:
    deposit = make_deposit()
    record(deposit, "0x1", 25, height=10)
    confirm_through("base", 10, now=timezone.now())
    orphan_above("base", 9, now=timezone.now())
    assert balances() == [(0, 0)]
    record(deposit, "0x1", 26, height=10)
    confirm_through("base", 10, now=timezone.now() + timedelta(seconds=1))
    assert balances() == [(26, 0)]


def test_what_left_is_told_apart_from_what_came() -> None:
    deposit = make_deposit()
    record(deposit, "0x1", 25, height=10)
    confirm_through("base", 10, now=timezone.now())
    outflow = flush(deposit, 25, state=TransferState.DETECTED, confirmed_at=None)
    assert balances() == [(25, 0)]
    DepositOutflow.objects.filter(pk=outflow.pk).update(state=TransferState.CONFIRMED)
    assert balances() == [(25, 25)]
    outflow.delete()
    assert balances() == [(25, 0)]


def test_the_queue_does_not_touch_what_is_held() -> None:
    deposit = make_deposit()
    record(deposit, "0x1", 25, height=10)
    confirm_through("base", 10, now=timezone.now())
    with connection.cursor() as cursor:
        cursor.execute("SELECT xmin::text FROM wallets_depositbalance")
        before = cursor.fetchone()
        Transfer.objects.update(queued_at=None)
        cursor.execute("SELECT xmin::text FROM wallets_depositbalance")
        assert cursor.fetchone() == before
