"""What a claim's transaction came to decides whether another one may pay the same."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction

from accounts.models import Merchant
from settlements.gas.claims import TakenSubjectError, hold, refuse_taken, take
from settlements.gas.node import GasReceipt, note_receipt
from settlements.models import EMPTY_BYTES, GasAccount, GasAttempt, GasTransaction, RelayClaim, SponsoredTransaction
from settlements.states import Outcome, Purpose, TransactionState
from tests.factories import NOON

pytestmark = pytest.mark.django_db

SUBJECT = "chk_live_1"
ENDS = NOON + timedelta(minutes=10)
PAYMENT, EMPTY = b"p" * (EMPTY_BYTES + 1), b"e" * EMPTY_BYTES


def on_evm(merchant: Merchant | None, **values: Any) -> GasTransaction:
    """A transaction that was sent, of each attempt the bytes in `raws`; the last attempt is the one mined."""
    raws, hashes = values.pop("raws", [PAYMENT]), values.pop("hashes", "0x")
    account, _ = GasAccount.objects.get_or_create(chain="base", address="0xGas", defaults={"next_nonce": 8})
    usual: dict[str, Any] = {
        "account": account,
        "nonce": 7,
        "purpose": Purpose.RELAY,
        "reference": f"{SUBJECT}:1",
        "merchant": merchant,
        "payer": "0xPayer",
        "to": "0xToken",
        "data": b"",
        "gas_limit": 90_000,
        "most_wei": 1,
        "state": TransactionState.SENT,
        "expires_at": ENDS,
        "tx_hash": "0x0",
    }
    made = GasTransaction.objects.create(**usual | values)
    for number, raw in enumerate(raws):
        GasAttempt.objects.create(
            transaction=made,
            number=number + 1,
            tx_hash=f"{hashes}{number}",
            raw=raw,
            max_fee=1,
            priority_fee=1,
            signed_at=NOON,
        )
    return made


def on_solana(merchant: Merchant, **values: Any) -> SponsoredTransaction:
    usual: dict[str, Any] = {
        "chain": "solana",
        "reference": f"{SUBJECT}:1",
        "merchant": merchant,
        "fee_payer": "ours",
        "payer": "payer",
        "signed": b"",
        "tx_hash": "hash",
        "fee": 12_000,
        "last_height": 10,
    }
    return SponsoredTransaction.objects.create(**usual | values)


def claimed(made: GasTransaction | SponsoredTransaction) -> None:
    with transaction.atomic():
        hold(take(SUBJECT, now=NOON), made)


MINED: dict[str, Any] = {"state": TransactionState.MINED, "succeeded": True}
PAID: dict[str, Any] = MINED | {"outcome": Outcome.DONE}
FAILED: dict[str, Any] = {"state": TransactionState.MINED, "succeeded": False, "outcome": Outcome.FAILED}
EMPTIED: dict[str, Any] = {"purpose": Purpose.CANCEL, "reference": "relay:1", "expires_at": None}
AFTER_IT: dict[str, Any] = {"raws": [PAYMENT, EMPTY], "tx_hash": "0x1"}


@pytest.mark.parametrize(
    ("values", "is_on_its_way"),
    [
        ({}, True),
        ({"state": TransactionState.INTENDED}, True),
        (PAID, True),
        # In a block that may still be removed.
        ({"succeeded": False, "outcome": Outcome.FAILED}, True),
        (FAILED, False),
        ({"state": TransactionState.DROPPED}, False),
        # The attempt of before may be in a block already, or was when it was emptied.
        (EMPTIED | AFTER_IT, True),
        (EMPTIED | PAID | AFTER_IT | {"tx_hash": "0x0"}, True),
    ],
)
def test_while_a_transaction_may_pay_no_other_is_stored(
    merchant: Merchant, values: dict[str, Any], is_on_its_way: bool
) -> None:
    claimed(on_evm(merchant, **values))
    with pytest.raises(TakenSubjectError) as found, transaction.atomic():
        take(SUBJECT, now=NOON)
    assert found.value.is_on_its_way is is_on_its_way
    with pytest.raises(TakenSubjectError):
        refuse_taken(SUBJECT, now=NOON)
    # Another checkout is not concerned.
    refuse_taken("chk_live_2", now=NOON)


@pytest.mark.parametrize(
    ("values", "after"),
    [
        (FAILED, timedelta(minutes=10)),
        ({"state": TransactionState.DROPPED}, timedelta(minutes=10)),
        (EMPTIED | MINED | AFTER_IT, timedelta()),
        # Withdrawn: no node had it.
        (EMPTIED | {"payer": ""} | AFTER_IT, timedelta()),
    ],
)
def test_once_a_transaction_cannot_pay_any_more_another_takes_its_place(
    merchant: Merchant, values: dict[str, Any], after: timedelta
) -> None:
    claimed(on_evm(**{"merchant": merchant, **values}))
    refuse_taken(SUBJECT, now=NOON + after)
    made = on_solana(merchant)
    with transaction.atomic():
        hold(take(SUBJECT, now=NOON + after), made)
    claim = RelayClaim.objects.get()
    assert (claim.transaction, claim.sponsored) == (None, made)


@pytest.mark.parametrize("outcome", [Outcome.OPEN, Outcome.DONE])
def test_on_solana_it_is_held_until_no_block_can_take_it(merchant: Merchant, outcome: Outcome) -> None:
    made = on_solana(merchant, outcome=outcome)
    claimed(made)
    with pytest.raises(TakenSubjectError), transaction.atomic():
        take(SUBJECT, now=NOON)
    SponsoredTransaction.objects.update(outcome=Outcome.FAILED)
    with transaction.atomic():
        hold(take(SUBJECT, now=NOON), on_evm(merchant))
    assert RelayClaim.objects.get().sponsored is None


@pytest.mark.parametrize(
    ("mined", "succeeded", "outcome"),
    [("0x0", True, Outcome.DONE), ("0x0", False, Outcome.FAILED), ("0x1", True, Outcome.OPEN)],
)
def test_what_was_emptied_and_mined_all_the_same_came_to_what_its_receipt_says(
    merchant: Merchant, mined: str, succeeded: bool, outcome: Outcome
) -> None:
    made = on_evm(merchant, **EMPTIED | AFTER_IT | {"tx_hash": ""})
    machines = on_evm(merchant, **EMPTIED | {"reference": "x402:1", "nonce": 8, "tx_hash": "", "hashes": "0x8"})
    GasTransaction.objects.filter(pk=made.pk).update(reference=f"relay:{made.pk}")
    for row, tx_hash in ((made, mined), (machines, "0x80")):
        row.refresh_from_db()
        receipt = GasReceipt(tx_hash, 9, "0xBlock", succeeded, 21_000, 1, [])
        note_receipt(row, receipt, is_final=True, now=NOON)
        row.refresh_from_db()
    assert (made.state, made.tx_hash, made.outcome) == (TransactionState.MINED, mined, outcome)
    # What machines' payments came to is judged by their rail.
    assert machines.outcome == Outcome.OPEN
    claimed(made)
    if outcome == Outcome.DONE:
        with pytest.raises(TakenSubjectError):
            refuse_taken(SUBJECT, now=NOON)
    else:
        refuse_taken(SUBJECT, now=NOON)


def test_what_was_not_stored_holds_nothing(merchant: Merchant) -> None:
    with transaction.atomic():
        take(SUBJECT, now=NOON)
        transaction.set_rollback(True)
    assert not RelayClaim.objects.exists()
    claimed(on_evm(merchant))
