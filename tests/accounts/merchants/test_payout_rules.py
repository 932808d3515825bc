"""Rules for approving payouts: stricter ones hold at once, looser ones wait."""

from datetime import timedelta
from decimal import Decimal

import pytest

from accounts.audit.actors import Actor
from accounts.merchants.payout_rules import PayoutRules, apply_payout_rules, set_payout_rules
from accounts.models import AuditEntry, Merchant
from gateway.core.api.errors import InvalidRequestError
from mails.models import OutgoingMail
from tests.factories import NOON

pytestmark = pytest.mark.django_db

LAX = PayoutRules(1, Decimal(1000), admins_approve=False)
STRICT = PayoutRules(2, Decimal(100), admins_approve=False)
DAY = timedelta(hours=24)


def held(merchant: Merchant) -> tuple[PayoutRules, PayoutRules | None]:
    """The rules that hold, and those that wait."""
    merchant.refresh_from_db()
    return PayoutRules.of(merchant), PayoutRules.next_of(merchant)


def test_one_owner_approves_until_somebody_wants_more(merchant: Merchant) -> None:
    assert held(merchant) == (LAX, None)


def test_stricter_rules_hold_at_once(owned_merchant: Merchant) -> None:
    owner = owned_merchant.memberships.get().user
    set_payout_rules(owned_merchant, STRICT, now=NOON, actor=Actor(owner))
    assert held(owned_merchant) == (STRICT, None)
    assert not OutgoingMail.objects.exists()
    [entry] = AuditEntry.objects.all()
    assert (entry.action, entry.actor) == ("merchant.payout_rules_set", owner)
    assert entry.after == {"approvals": 2, "second_above": "100.00", "admins_approve": False}


@pytest.mark.parametrize(
    "looser",
    [LAX, PayoutRules(2, Decimal("100.01"), admins_approve=False), PayoutRules(2, Decimal(100), admins_approve=True)],
    ids=str,
)
def test_looser_rules_wait_and_the_owners_are_told(owned_merchant: Merchant, looser: PayoutRules) -> None:
    set_payout_rules(owned_merchant, STRICT, now=NOON)
    for _ in range(2):
        set_payout_rules(owned_merchant, looser, now=NOON)
    assert held(owned_merchant) == (STRICT, looser)
    [mail] = OutgoingMail.objects.all()
    assert str(looser) in mail.text
    assert "2026-11-21 12:00 UTC" in mail.text
    assert apply_payout_rules(now=NOON + DAY - timedelta(seconds=1)) == 0
    assert [apply_payout_rules(now=NOON + DAY) for _ in range(2)] == [1, 0]
    assert held(owned_merchant) == (looser, None)


def test_the_present_rules_cancel_looser_ones_that_wait(owned_merchant: Merchant) -> None:
    set_payout_rules(owned_merchant, STRICT, now=NOON)
    set_payout_rules(owned_merchant, LAX, now=NOON)
    set_payout_rules(owned_merchant, STRICT, now=NOON)
    assert held(owned_merchant) == (STRICT, None)
    assert apply_payout_rules(now=NOON + DAY) == 0


def test_whoever_waits_for_nothing_loosens_at_once(merchant: Merchant) -> None:
    Merchant.objects.update(wallet_change_hours=0)
    set_payout_rules(merchant, STRICT, now=NOON)
    set_payout_rules(merchant, LAX, now=NOON)
    assert held(merchant) == (LAX, None)


@pytest.mark.parametrize(
    "wrong",
    [
        PayoutRules(0, Decimal(1), admins_approve=False),
        PayoutRules(3, Decimal(1), admins_approve=False),
        PayoutRules(2, Decimal(-1), admins_approve=False),
    ],
)
def test_other_rules_are_refused(merchant: Merchant, wrong: PayoutRules) -> None:
    with pytest.raises(InvalidRequestError):
        set_payout_rules(merchant, wrong, now=NOON)
