"""What payers' transactions may cost us on Solana."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from tests.contract.client import ApiClient
from tests.x402.exact.calls import settle
from tests.x402.exact.solana.payers import Shop, ticking
from tests.x402.exact.solana.test_reasons import TROUBLE
from x402.models import Authorization
from x402.states import AuthorizationState

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "changes",
    [
        {"GAS_DAILY_COINS": {"solana": "0.00001"}},
        {"GAS_DAILY_COINS": {"solana": "0.0001"}, "GAS_MERCHANT_SHARE": "0.1"},
    ],
)
def test_what_a_day_may_cost_is_not_exceeded(
    solana_stall: Shop, solana_seller: ApiClient, settings: Any, changes: dict[str, Any]
) -> None:
    body = solana_stall.body(solana_stall.draft().signed())
    before = {name: getattr(settings, name) for name in changes}
    for name, value in changes.items():
        setattr(settings, name, value)
    assert settle(solana_seller, body)["errorReason"] == TROUBLE[1]
    row = Authorization.objects.get()
    assert (row.state, row.signed) == (AuthorizationState.TAKEN, None)
    for name, value in before.items():
        setattr(settings, name, value)
    with ticking(solana_stall.node):
        assert settle(solana_seller, body)["success"]


def test_each_payment_is_counted_against_the_day(solana_stall: Shop, solana_seller: ApiClient, settings: Any) -> None:
    # Twice two signatures and a lamport of haste each to the lamport, and not three times.
    settings.GAS_DAILY_COINS = {"solana": "0.000020002"}
    settings.GAS_MERCHANT_SHARE = "1"
    with ticking(solana_stall.node):
        answers = [settle(solana_seller, solana_stall.body(solana_stall.draft().signed())) for _ in range(3)]
    assert [answer["success"] for answer in answers] == [True, True, False]
    assert answers[2]["errorReason"] == TROUBLE[1]
    fees = Authorization.objects.values_list("network_fee", flat=True)
    assert sorted(fee for fee in fees if fee) == [10_001, 10_001]


def test_what_failed_a_while_ago_is_no_part_of_the_merchants_day(
    solana_stall: Shop, solana_seller: ApiClient, settings: Any
) -> None:
    # A share for two payments.
    settings.GAS_DAILY_COINS = {"solana": "0.0001"}
    settings.GAS_MERCHANT_SHARE = "0.25"
    with ticking(solana_stall.node):
        answers = [settle(solana_seller, solana_stall.body(solana_stall.draft().signed())) for _ in range(3)]
        assert [answer["success"] for answer in answers] == [True, True, False]
        paid = Authorization.objects.filter(network_fee__isnull=False)
        paid.update(state=AuthorizationState.FAILED)
        assert not settle(solana_seller, solana_stall.body(solana_stall.draft().signed()))["success"]
        # Further away than a payer's own wait as well.
        paid.update(created_at=timezone.now() - timedelta(minutes=61))
        assert settle(solana_seller, solana_stall.body(solana_stall.draft().signed()))["success"]
