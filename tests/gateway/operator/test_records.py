"""What the operator may change, each audited: a merchant's plan, who may log in, and alarms that somebody looked into."""

import pytest
from django.test import Client

from accounts.models import AuditEntry, FiatInterest, Merchant, User
from accounts.states import Mode
from tests.factories import NOON
from tests.gateway.operator.people import act
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
