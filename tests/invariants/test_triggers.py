"""Triggers that keep sums: each keeps them equal to the rows, and without it they are wrong."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

import pytest
from django.db.models import F, Model, Sum

from settlements.gas.ledger import spent_since
from settlements.models import GasTransaction
from tests.accounts.fee_entries import charged
from tests.checkouts.schema import alter
from tests.factories import NOON, make_checkout, make_merchant, make_transfer
from tests.invariants.twins import gas_transaction, outflow
from tests.settlements.gas.test_ledger import added_up
from tests.totals import differences
from tests.wallets.days import make_movement, make_watched
from wallets.models import DepositBalance, DepositOutflow, Transfer, TransferClaim, WatchedMovement
from wallets.states import ClaimKind, TransferState

pytestmark = pytest.mark.django_db
FINAL: Final[dict[str, Any]] = {"state": TransferState.CONFIRMED, "confirmed_at": NOON}


def _deposits_differ() -> bool:
    """Say whether what deposit addresses hold is not what their rows add up to."""
    kept = DepositBalance.objects.aggregate(Sum("received"), Sum("flushed"))
    rows = [
        model._default_manager.filter(state=TransferState.CONFIRMED).aggregate(units=Sum("units"))["units"]
        for model in (Transfer, DepositOutflow)
    ]
    return [total or 0 for total in kept.values()] != [total or 0 for total in rows]


def _gas_differs() -> bool:
    long_ago = datetime.fromtimestamp(0, tz=NOON.tzinfo)
    return spent_since("base", long_ago) != added_up(long_ago)


def _transfer() -> Transfer:
    return make_transfer(make_checkout(), **FINAL)


def _movement() -> WatchedMovement:
    return make_movement(make_watched())


def _claim(transfer: Transfer | None = None) -> TransferClaim:
    return TransferClaim.objects.create(transfer=transfer or _transfer(), kind=ClaimKind.CHECKOUT, claimed_at=NOON)


def _more(row: Model) -> None:
    type(row)._default_manager.filter(pk=row.pk).update(units=F("units") + 1)


def _remove(row: Model) -> None:
    row.delete()


def _cost_more(row: Model) -> None:
    GasTransaction.objects.update(most_wei=F("most_wei") + 1)


Step = tuple[str, Callable[[], Any], Callable[[Any], object], Callable[[], object]]
# Trigger: its table, what is there before, what happens, and whether sums and rows differ afterwards.
KEPT: Final[dict[str, Step]] = {
    "transfer_days_added": ("wallets_transfer", make_checkout, make_transfer, differences),
    "transfer_days_removed": ("wallets_transfer", _transfer, _remove, differences),
    "transfer_days_changed": ("wallets_transfer", _transfer, _more, differences),
    "transfer_days_claimed": ("wallets_transferclaim", _transfer, _claim, differences),
    "transfer_days_unclaimed": ("wallets_transferclaim", _claim, _remove, differences),
    "watched_days_added": ("wallets_watchedmovement", make_watched, make_movement, differences),
    "watched_days_removed": ("wallets_watchedmovement", _movement, _remove, differences),
    "watched_days_changed": ("wallets_watchedmovement", _movement, _more, differences),
    "fee_days_added": ("accounts_feeentry", make_merchant, charged, differences),
    "deposit_received_added": (
        "wallets_transfer",
        make_checkout,
        lambda checkout: make_transfer(checkout, **FINAL),
        _deposits_differ,
    ),
    "deposit_received_removed": ("wallets_transfer", _transfer, _remove, _deposits_differ),
    "deposit_received_changed": ("wallets_transfer", _transfer, _more, _deposits_differ),
    "deposit_flushed_added": ("wallets_depositoutflow", lambda: None, lambda _: outflow(), _deposits_differ),
    "deposit_flushed_removed": ("wallets_depositoutflow", outflow, _remove, _deposits_differ),
    "deposit_flushed_changed": ("wallets_depositoutflow", outflow, _more, _deposits_differ),
    "gas_spent_or_freed": ("settlements_gastransaction", lambda: None, lambda _: gas_transaction(), _gas_differs),
    "gas_spent_changed": ("settlements_gastransaction", gas_transaction, _cost_more, _gas_differs),
}


@pytest.mark.parametrize("trigger", KEPT)
def test_the_sums_are_what_the_rows_add_up_to(trigger: str) -> None:
    _, prepare, happen, differ = KEPT[trigger]
    happen(prepare())
    assert not differ()


@pytest.mark.parametrize("trigger", KEPT)
def test_without_the_trigger_the_sums_are_wrong(trigger: str) -> None:
    """The negative control of the test above."""
    table, prepare, happen, differ = KEPT[trigger]
    before = prepare()
    assert not differ()
    alter(f"ALTER TABLE {table} DISABLE TRIGGER {trigger}")
    happen(before)
    assert differ()
