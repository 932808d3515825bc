"""Writing transfers by hand, as test mode does, and choosing where a merchant's money goes."""

import secrets
from datetime import timedelta
from typing import Any

import pytest

from accounts.states import Mode
from tests.factories import NOON
from tests.wallets.factories import address_of, make_deposit
from wallets.models import DepositAddress, Transfer
from wallets.states import TransferState
from wallets.transfers.service import (
    NewTransfer,
    confirm_transfers,
    orphan_transfers,
    record_transfers,
    revive_transfers,
)

pytestmark = pytest.mark.django_db
LATER = NOON + timedelta(seconds=5)
OTHER = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"


def new_transfer(deposit: DepositAddress, **overrides: Any) -> NewTransfer:
    """A simulated payment of 25 USDC on Base."""
    values: dict[str, Any] = {
        "chain": "base",
        "tx_hash": f"0x{secrets.token_hex(32)}",
        "position": 0,
        "token": "USDC",
        "token_address": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
        "units": 25_000_000,
        "sender": OTHER,
        "recipient": address_of(deposit),
        "deposit_id": deposit.pk,
        "merchant_id": deposit.merchant_id,
        "mode": deposit.mode,
        "block_height": 0,
        "block_hash": "simulated",
        "block_time": NOON,
    }
    return NewTransfer(**(values | overrides))


def test_a_recorded_transfer_is_queued_for_its_consumers() -> None:
    transfer = new_transfer(make_deposit(mode=Mode.TEST))
    [pk] = record_transfers([transfer], now=NOON)
    written = Transfer.objects.get(pk=pk)
    assert (written.state, written.queued_at, written.detected_at) == ("detected", NOON, NOON)
    assert written.units == 25_000_000
    assert list(Transfer.objects.queued()) == [written]


def test_recording_twice_writes_once() -> None:
    transfer = new_transfer(make_deposit())
    assert len(record_transfers([transfer], now=NOON)) == 1
    assert record_transfers([transfer], now=LATER) == []
    assert Transfer.objects.get().queued_at == NOON


def test_nothing_to_record_is_no_question_at_all(django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        assert record_transfers([], now=NOON) == []


def test_an_orphaned_transfer_comes_back_with_what_its_transaction_does_now() -> None:
    deposit = make_deposit(mode=Mode.TEST)
    first = new_transfer(deposit)
    ids = record_transfers([first], now=NOON)
    orphan_transfers(ids, now=NOON)
    again = new_transfer(deposit, tx_hash=first.tx_hash, units=7, block_hash="another")
    assert record_transfers([again], now=LATER) == ids
    row = Transfer.objects.get()
    assert (row.state, row.units, row.block_hash) == ("detected", 7, "another")
    assert (row.orphaned_at, row.queued_at) == (None, LATER)


@pytest.mark.parametrize("changed", ["recipient", "token"])
def test_a_transaction_that_pays_something_else_after_a_fork_is_another_transfer(changed: str) -> None:
    deposit = make_deposit()
    first = new_transfer(deposit)
    [old] = record_transfers([first], now=NOON)
    Transfer.objects.update(state=TransferState.ORPHANED, orphaned_at=NOON, queued_at=None)
    paid = make_deposit() if changed == "recipient" else deposit
    token = "USDC" if changed == "recipient" else "USDbC"
    other = new_transfer(paid, tx_hash=first.tx_hash, token=token)
    [new] = record_transfers([other], now=LATER)
    assert record_transfers([other], now=LATER) == []
    rows = {row.pk: row for row in Transfer.objects.all()}
    assert (rows[old].state, rows[old].deposit_id, rows[old].queued_at) == ("orphaned", deposit.pk, None)
    assert (rows[new].state, rows[new].deposit_id, rows[new].queued_at) == ("detected", paid.pk, LATER)


def test_a_confirmed_transfer_is_never_moved_by_recording_it_again() -> None:
    transfer = new_transfer(make_deposit(mode=Mode.TEST))
    confirm_transfers(record_transfers([transfer], now=NOON), now=NOON)
    moved = new_transfer(DepositAddress.objects.get(), tx_hash=transfer.tx_hash, block_hash="another")
    assert record_transfers([moved], now=LATER) == []
    assert Transfer.objects.get().state == TransferState.CONFIRMED


def test_simulated_transfers_are_confirmed_orphaned_and_revived_on_command() -> None:
    ids = record_transfers([new_transfer(make_deposit(mode=Mode.TEST))], now=NOON)
    for change, state in [
        (orphan_transfers, "orphaned"),
        (revive_transfers, "detected"),
        (confirm_transfers, "confirmed"),
        (orphan_transfers, "orphaned"),
    ]:
        Transfer.objects.update(queued_at=None)
        assert change(ids, now=LATER) == 1
        assert change(ids, now=LATER) == 0
        row = Transfer.objects.get()
        assert (row.state, row.queued_at) == (state, LATER)


@pytest.mark.parametrize("change", [confirm_transfers, orphan_transfers])
def test_live_transfers_obey_no_command(change: Any) -> None:
    ids = record_transfers([new_transfer(make_deposit(mode=Mode.LIVE))], now=NOON)
    assert change(ids, now=LATER) == 0
    assert Transfer.objects.get().state == TransferState.DETECTED
