"""Putting a merchant on a plan."""

from decimal import Decimal

import pytest
from django.db import IntegrityError, transaction

from accounts.fees.plans import set_plan
from accounts.models import AuditEntry, Merchant
from accounts.states import FeeTier
from tests.factories import NOON, make_merchant, make_user

pytestmark = pytest.mark.django_db


def put_on(merchant: Merchant, tier: FeeTier, rate: str) -> None:
    set_plan(merchant.pk, tier=tier, rate=Decimal(rate), actor=make_user(), now=NOON)
    merchant.refresh_from_db()


def plans_told(merchant: Merchant) -> int:
    return AuditEntry.objects.filter(merchant=merchant, action="merchant.plan_set").count()


def test_a_plan_is_set_and_audited_once() -> None:
    merchant = make_merchant()
    for _ in range(2):
        put_on(merchant, FeeTier.SCALE, "0.007")
    assert (merchant.fee_tier, merchant.fee_rate) == (FeeTier.SCALE, Decimal("0.00700"))
    assert plans_told(merchant) == 1


def test_a_rate_that_is_not_the_plans_is_refused() -> None:
    merchant = make_merchant()
    with pytest.raises(IntegrityError), transaction.atomic():
        put_on(merchant, FeeTier.GROWTH, "0.001")
    merchant.refresh_from_db()
    assert merchant.fee_tier == FeeTier.STARTER
    assert plans_told(merchant) == 0
