"""The page of the rules for approving payouts: who changes them, how, and what waits."""

from datetime import timedelta
from typing import Any

import pytest

from accounts.merchants.payout_rules import PayoutRules, apply_payout_rules
from accounts.models import AuditEntry, Merchant
from accounts.states import Mode, Role
from mails.models import OutgoingMail
from payouts.states import PayoutStatus
from tests.dashboard.people import Desk, make_desk
from tests.factories import NOON
from tests.payouts.factories import make_payout, status_of

pytestmark = pytest.mark.usefixtures("db", "still_noon")

LAX = {"approvals": "1", "second_above": "1000.00"}
STRICT = {"approvals": "2", "second_above": "100"}
STRICT_WORDS = "owners approve, two of them above 100.00 USD"


def held(desk: Desk) -> str:
    """The rules that hold, in words."""
    return str(PayoutRules.of(Merchant.objects.get(pk=desk.merchant.pk)))


def set_rules(desk: Desk, **typed: str) -> Any:
    return desk.post("dashboard_set_approvals", typed)


def test_stricter_rules_hold_at_once_and_are_on_the_page(owner_by_factor: Desk) -> None:
    assert set_rules(owner_by_factor, **STRICT).status_code == 302
    assert held(owner_by_factor) == STRICT_WORDS
    entry = AuditEntry.objects.get(action="merchant.payout_rules_set")
    assert (entry.actor, entry.merchant) == (owner_by_factor.user, owner_by_factor.merchant)
    page = owner_by_factor.get("dashboard_approvals").text
    assert "Rules saved" in page
    assert 'value="100.00"' in page
    assert "Only one person in your team can approve" in page
    make_desk(owner_by_factor.merchant)
    assert "Only one person" not in owner_by_factor.get("dashboard_approvals").text


def test_looser_rules_wait_as_wallets_do_and_any_owner_keeps_the_present_ones(owner_by_factor: Desk) -> None:
    set_rules(owner_by_factor, **STRICT)
    set_rules(owner_by_factor, **LAX, admins_approve="on")
    assert held(owner_by_factor) == STRICT_WORDS
    page = owner_by_factor.get("dashboard_approvals").text
    assert "Looser rules hold from" in page
    assert "21 Nov 2026, 12:00" in page
    assert "owners and admins approve, one for each payout" in page
    assert OutgoingMail.objects.filter(key__startswith="payout-rules:").exists()
    # Quick, without asking who it is again.
    second = make_desk(owner_by_factor.merchant, fresh=False)
    assert second.post("dashboard_keep_approvals").status_code == 302
    assert "Looser rules hold from" not in second.get("dashboard_approvals").text
    assert apply_payout_rules(now=NOON + timedelta(days=30)) == 0


def test_looser_rules_hold_after_the_wait(owner_by_factor: Desk) -> None:
    set_rules(owner_by_factor, **STRICT)
    set_rules(owner_by_factor, **LAX)
    assert apply_payout_rules(now=NOON + timedelta(hours=24)) == 1
    assert held(owner_by_factor) == "owners approve, one for each payout"


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"approvals": "3", "second_above": "1"},
        {"approvals": "2", "second_above": "-1"},
        {"approvals": "2", "second_above": "0.001"},
        {"approvals": "2", "second_above": "NaN"},
        {"approvals": "2", "second_above": "1" + "0" * 13},
    ],
    ids=str,
)
def test_other_rules_are_refused_and_nothing_changes(wrong: dict[str, str], owner_by_factor: Desk) -> None:
    before = held(owner_by_factor)
    assert set_rules(owner_by_factor, **wrong).status_code == 422
    assert held(owner_by_factor) == before


def test_a_change_takes_a_second_factor_in_either_mode(owner: Desk) -> None:
    for mode in Mode:
        desk = Desk(owner.client, owner.merchant, owner.user, mode)
        assert "security" in set_rules(desk, **STRICT)["Location"]
    assert held(owner) == "owners approve, one for each payout"


@pytest.mark.parametrize("role", [Role.ADMIN, Role.VIEWER])
def test_only_owners_change_the_rules_even_where_admins_approve(role: Role, merchant: Merchant) -> None:
    Merchant.objects.update(admins_approve=True)
    desk = make_desk(merchant, role, factor=True)
    page = desk.get("dashboard_approvals").text
    assert "An owner of your team can change the rules." in page
    assert "Save the rules" not in page
    assert set_rules(desk, **STRICT).status_code == 403
    assert desk.post("dashboard_keep_approvals").status_code == 403


def test_an_admin_who_may_not_approve_is_told_so(merchant: Merchant) -> None:
    desk, payout = make_desk(merchant, Role.ADMIN, factor=True), make_payout(merchant)
    answer = desk.post("dashboard_approve_payout", {"revision": payout.revision}, payout_id=payout.public_id)
    assert answer.status_code == 403
    assert status_of(payout) == PayoutStatus.REQUESTED
