"""Authorisations that came to nothing are forgotten, and nothing else is."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from settlements.models import GasAccount, GasTransaction
from settlements.states import Purpose
from tests.factories import make_merchant
from x402.exact.authorizations import UNSENT_KEPT
from x402.models import Authorization
from x402.tasks import forget_old_task

pytestmark = pytest.mark.django_db
OLD = UNSENT_KEPT + timedelta(hours=1)


def make_row(**values: Any) -> Authorization:
    """One that failed long ago before anything was sent."""
    asked_at: datetime = timezone.now() - OLD
    usual = {"state": "failed", "units": 1, "created_at": asked_at, "mode": "live"}
    names = {"chain": "base", "token": "USDC", "payer": "0x01", "nonce": "0x02"}
    return Authorization.objects.create(merchant=make_merchant(), pay_to="0x03", **(usual | names | values))


def make_transaction(reference: object) -> GasTransaction:
    account = GasAccount.objects.create(chain="base", address="0x04")
    return GasTransaction.objects.create(
        account=account,
        nonce=0,
        purpose=Purpose.X402,
        reference=str(reference),
        to="0x05",
        data=b"",
        gas_limit=1,
        most_wei=1,
    )


def is_kept(row: Authorization) -> bool:
    forget_old_task()
    return Authorization.objects.filter(pk=row.pk).exists()


@pytest.mark.parametrize(
    ("values", "kept"),
    [
        ({}, False),
        ({"state": "taken"}, False),
        ({"state": "taken", "taken_until": timezone.now() + timedelta(days=1)}, True),
        ({"state": "sent"}, True),
        ({"state": "settled"}, True),
        ({"tx_hash": "0x06"}, True),
    ],
)
def test_what_came_to_nothing_is_forgotten_after_a_week(values: dict[str, Any], kept: bool) -> None:
    assert is_kept(make_row(**values)) is kept


def ended_with_nothing(**values: Any) -> Authorization:
    """A maximum that was settled for nothing long ago, and that nothing accepts any more for a week and an hour."""
    expired = {"version": 2, "valid_before": int((timezone.now() - OLD).timestamp())}
    usual = {"state": "settled", "units": 0, "most_units": 9, "pending": expired, "answer": {"success": True}}
    return make_row(**(usual | values))


@pytest.mark.parametrize("mode", ["live", "test"])
def test_what_was_ended_with_nothing_is_forgotten_a_week_after_its_signature_ran_out(mode: str) -> None:
    assert not is_kept(ended_with_nothing(mode=mode))


@pytest.mark.parametrize(
    "values",
    [
        {"pending": {"version": 2, "valid_before": int((timezone.now() - UNSENT_KEPT).timestamp()) + 3_600}},
        {"pending": {"version": 2, "valid_before": 2**256 - 1}},
        {"pending": {"version": 2}},
        {"pending": None},
        {"created_at": timezone.now()},
        {"units": 1},
        {"most_units": None},
        {"tx_hash": "0x06"},
        {"state": "sent"},
    ],
    ids=["lately", "never", "unknown", "nothing", "young", "charged", "exact", "hash", "sent"],
)
def test_what_might_be_charged_or_was_is_kept(values: dict[str, Any]) -> None:
    assert is_kept(ended_with_nothing(**values))


def test_what_came_to_nothing_lately_is_kept() -> None:
    lately = timezone.now() - UNSENT_KEPT + timedelta(hours=1)
    assert is_kept(make_row(created_at=lately))


def test_what_the_ledger_has_a_transaction_of_is_kept() -> None:
    row = make_row()
    make_transaction(row.pk)
    assert is_kept(row)


def test_what_has_a_transaction_is_kept() -> None:
    assert is_kept(make_row(transaction=make_transaction("elsewhere")))
