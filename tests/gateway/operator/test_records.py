"""What the operator may change, each audited: a merchant's plan, who may log in, and alarms that somebody looked into."""

import pytest
from django.test import Client

from accounts.models import AuditEntry, FiatInterest, Merchant, User
from accounts.states import Mode
from tests.accounts.logins import is_logged_in
from tests.dashboard.people import log_in, make_member
from tests.factories import NOON
from tests.gateway.operator.people import PEOPLE, act
from wallets.models import SourceDifference
from wallets.states import DifferenceKind

pytestmark = pytest.mark.django_db

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
