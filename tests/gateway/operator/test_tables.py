"""What the operator may change of a merchant: its plan, and reopening its account."""

from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.audit.actors import Actor
from accounts.merchants.service import REOPEN_WITHIN, close_account
from accounts.models import AuditEntry, FiatInterest, Merchant, User
from accounts.states import FeeTier, Mode
from tests.accounts.logins import is_logged_in
from tests.dashboard.people import log_in, make_member
from tests.factories import NOON, make_merchant
from tests.gateway.operator.people import PEOPLE, act
from wallets.models import SourceDifference
from wallets.states import DifferenceKind

pytestmark = pytest.mark.django_db

MERCHANTS = "/operator/accounts/merchant/"


def set_plan(client: Client, merchant: Merchant, **fields: str) -> Any:
    return client.post(f"{MERCHANTS}{merchant.pk}/change/", fields)


def test_a_custom_plan_has_the_rate_that_was_typed(
    operators_browser: Client, operator: User, merchant: Merchant
) -> None:
    set_plan(operators_browser, merchant, fee_tier="custom", fee_rate="0.00450")
    merchant.refresh_from_db()
    assert (merchant.fee_tier, merchant.fee_rate) == ("custom", Decimal("0.0045"))
    entry = AuditEntry.objects.get(action="merchant.plan_set")
    assert (entry.merchant, entry.actor) == (merchant, operator)
    assert entry.before == {"plan": "starter", "rate": "0.01500"}
    assert entry.after == {"plan": "custom", "rate": "0.00450"}


@pytest.mark.parametrize("typed", ["0.5", "", "x"])
def test_another_plan_has_its_own_rate_whatever_was_typed(
    operators_browser: Client, merchant: Merchant, typed: str
) -> None:
    set_plan(operators_browser, merchant, fee_tier="growth", fee_rate=typed)
    merchant.refresh_from_db()
    assert (merchant.fee_tier, merchant.fee_rate) == ("growth", Decimal("0.01"))


@pytest.mark.parametrize("rate", ["1", "-0.1", "", "0.000001", "NaN"])
def test_a_custom_rate_is_a_fraction(operators_browser: Client, merchant: Merchant, rate: str) -> None:
    answer = set_plan(operators_browser, merchant, fee_tier="custom", fee_rate=rate)
    assert answer.status_code == 200
    merchant.refresh_from_db()
    assert merchant.fee_tier == FeeTier.STARTER


def test_saving_the_same_plan_is_no_act(operators_browser: Client, merchant: Merchant) -> None:
    assert set_plan(operators_browser, merchant, fee_tier="starter", fee_rate="0.015").status_code == 302
    assert not AuditEntry.objects.exists()


def test_nothing_else_of_a_merchant_can_be_changed(operators_browser: Client, merchant: Merchant) -> None:
    set_plan(
        operators_browser,
        merchant,
        fee_tier="scale",
        fee_rate="",
        name="Mine",
        public_id="mer_mine",
        wallet_change_hours="0",
    )
    merchant.refresh_from_db()
    assert (merchant.name, merchant.fee_tier) == ("Halden Roasters", "scale")
    assert (merchant.wallet_change_hours, merchant.public_id[:8]) != (0, "mer_mine")


def test_the_operator_reopens_what_was_closed_in_the_last_thirty_days(
    operators_browser: Client, operator: User, merchant: Merchant
) -> None:
    owner, now = make_member(merchant), timezone.now()
    other = make_merchant("Long gone")
    close_account(merchant, actor=Actor(owner), now=now)
    close_account(other, actor=Actor(make_member(other)), now=now - REOPEN_WITHIN)
    page = act(operators_browser, MERCHANTS, "reopen", merchant, other)
    assert "Reopened: 1." in page.content.decode()
    merchant.refresh_from_db()
    other.refresh_from_db()
    assert (merchant.closed_at, bool(other.closed_at)) == (None, True)
    entry = AuditEntry.objects.get(action="merchant.reopened")
    assert (entry.merchant, entry.actor) == (merchant, operator)


def test_no_member_of_a_team_reopens_an_account(merchant: Merchant) -> None:
    owner = make_member(merchant)
    close_account(merchant, actor=Actor(owner), now=timezone.now())
    answer = act(log_in(owner), MERCHANTS, "reopen", merchant)
    assert answer.status_code == 404
    merchant.refresh_from_db()
    assert merchant.closed_at


DIFFERENCES = "/operator/wallets/sourcedifference/"


def test_a_difference_is_closed_once_somebody_looked(operators_browser: Client, operator: User) -> None:
    row = SourceDifference.objects.create(
        chain="base",
        kind=DifferenceKind.MISSED,
        tx_hash="0x01",
        position=0,
        recipient="0x02",
        token="USDC",
        units=1,
        block_height=1,
        source="a node",
        found_at=NOON,
    )
    assert "0x01" in operators_browser.get(DIFFERENCES).content.decode()
    act(operators_browser, DIFFERENCES, "close", row)
    row.refresh_from_db()
    assert row.closed_at
    entry = AuditEntry.objects.get(action="source_differences.closed")
    assert (entry.actor, entry.after) == (operator, {"differences": [row.pk]})
    assert "Closed: 0." in act(operators_browser, DIFFERENCES, "close", row).content.decode()
    assert AuditEntry.objects.count() == 1


def test_what_strangers_wrote_is_shown_as_text(operators_browser: Client, merchant: Merchant) -> None:
    FiatInterest.objects.create(
        merchant=merchant,
        mode=Mode.LIVE,
        email="ines@halden.example",
        company="<script>alert(1)</script>",
        created_at=NOON,
    )
    page = operators_browser.get("/operator/accounts/fiatinterest/").content.decode()
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert(1)" not in page


def test_whoever_is_deactivated_is_logged_out_and_stays_out(
    operators_browser: Client, operator: User, merchant: Merchant
) -> None:
    member = make_member(merchant)
    browser = log_in(member)
    assert is_logged_in(browser)
    act(operators_browser, PEOPLE, "deactivate", member)
    assert not is_logged_in(browser)
    entry = AuditEntry.objects.get(action="person.deactivated")
    assert (entry.actor, entry.object_id) == (operator, member.public_id)
    act(operators_browser, PEOPLE, "reactivate", member)
    member.refresh_from_db()
    assert member.is_active
    assert not is_logged_in(browser)


def test_nobody_deactivates_themselves(operators_browser: Client, operator: User) -> None:
    act(operators_browser, PEOPLE, "deactivate", operator)
    operator.refresh_from_db()
    assert operator.is_active


def test_a_person_is_shown_without_the_password(operators_browser: Client, operator: User) -> None:
    address = f"{PEOPLE}{operator.pk}/change/"
    page = operators_browser.get(address).content.decode()
    assert operator.email in page
    assert operator.password not in page
    operators_browser.post(address, {"email": "mine@halden.example", "is_staff": ""})
    operator.refresh_from_db()
    assert operator.is_staff
