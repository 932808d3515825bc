"""Reports of buyers, as the merchant finds and closes them."""

import pytest

from accounts.models import AuditEntry
from checkouts.models import InboxItem
from tests.dashboard.inboxes import ITEM, make_report
from tests.dashboard.people import Desk

pytestmark = pytest.mark.django_db


def test_buyers_reports_lead_to_the_item_and_can_be_closed(owner: Desk, viewer: Desk, item: InboxItem) -> None:
    assert item.checkout is not None
    report = make_report(item.checkout, item.transfer.tx_hash)
    page = owner.get("dashboard_buyer_reports").text
    assert item.checkout.public_id in page
    assert "already paid" in page
    assert owner.url(ITEM, item_id=item.pk) in page
    assert viewer.post("dashboard_close_report", report_id=report.pk).status_code == 403
    for said in ("The report is closed", "Another team member closed it first"):
        owner.post("dashboard_close_report", report_id=report.pk)
        assert said in owner.get("dashboard_buyer_reports").text
    report.refresh_from_db()
    assert report.closed_at is not None
    assert AuditEntry.objects.filter(action="report.closed").count() == 1
