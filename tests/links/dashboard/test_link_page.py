"""The page of one link: its status, its checkouts, its QR code, and what a viewer sees."""

import pytest

from accounts.models import AuditEntry
from accounts.states import Mode, Role
from links.states import LinkType
from links.tokens import personal_url
from tests.dashboard.people import Desk, make_desk
from tests.links.dashboard.filled import make
from tests.links.factories import make_link, make_link_checkout, make_subscriber, make_subscription_link

pytestmark = pytest.mark.django_db


def test_a_status_changes_by_a_button_and_is_audited_once(admin: Desk) -> None:
    link = make_link(admin.merchant, mode=Mode.LIVE)
    for status in ("paused", "paused", "archived", "active"):
        admin.post("dashboard_link_status", link_id=link.public_id, status=status)
        link.refresh_from_db()
        assert link.status == status
    entries = AuditEntry.objects.filter(action="payment_link.status_set").order_by("pk")
    assert list(entries.values_list("before__status", "after__status")) == [
        ("active", "paused"),
        ("paused", "archived"),
        ("archived", "active"),
    ]
    wrong = {"link_id": link.public_id, "status": "open"}
    assert admin.post("dashboard_link_status", **wrong).status_code == 404


def test_a_link_that_cannot_be_paid_says_so(admin: Desk) -> None:
    link = make_link(admin.merchant, mode=Mode.LIVE)
    page = admin.get("dashboard_link", link_id=link.public_id).text
    assert "This link cannot be paid now" in page


def test_a_links_page_leads_to_its_checkouts_and_nobody_elses(owner_in_test_mode: Desk) -> None:
    link = make_link(owner_in_test_mode.merchant)
    mine = make_link_checkout(link)
    other = make_link_checkout(make_link(owner_in_test_mode.merchant))
    page = owner_in_test_mode.get("dashboard_link", link_id=link.public_id).text
    assert owner_in_test_mode.url("dashboard_checkout", checkout_id=mine.public_id) in page
    assert other.public_id not in page


def test_who_only_looks_on_changes_nothing_and_sees_no_payers_address(owner_in_test_mode: Desk) -> None:
    viewer = make_desk(owner_in_test_mode.merchant, Role.VIEWER, Mode.TEST)
    link = make_subscription_link(owner_in_test_mode.merchant)
    subscriber = make_subscriber(link, email="ada@example.test")
    page = viewer.get("dashboard_link", link_id=link.public_id).text
    assert "a•••@example.test" in page
    assert "ada@example.test" not in page
    assert personal_url(subscriber) not in page
    for words in ("Archive", "Pause", ">Edit<"):
        assert words not in page
    assert "New link" not in viewer.get("dashboard_links").text
    assert make(viewer, LinkType.CUSTOM).status_code == 403


@pytest.mark.parametrize(("kind", "start"), [("png", b"\x89PNG\r\n"), ("svg", b"<svg xmlns")])
def test_the_code_of_a_link_is_a_file(kind: str, start: bytes, owner_in_test_mode: Desk) -> None:
    link = make_link(owner_in_test_mode.merchant)
    arguments = {"link_id": link.public_id, "format_name": kind}
    answer = owner_in_test_mode.get("dashboard_link_qr", **arguments)
    assert answer.content.startswith(start)
    assert answer["Content-Disposition"] == (f'attachment; filename="{link.public_id}.{kind}"')
