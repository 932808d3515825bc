"""The public status page in a real browser."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from gateway.status.models import Incident, IncidentKind
from gateway.status.views import current_report
from tests.browser.test_screenshots import faults
from tests.factories import make_checkout, make_live_chain, make_transfer

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("chains_are_well")]


@pytest.fixture(autouse=True)
def _fresh() -> None:
    current_report.cache_clear()


def trouble() -> None:
    """A late chain, a stopped one, payments that wait, and an incident of each kind."""
    now = timezone.now()
    late = now - timedelta(minutes=9)
    make_live_chain("base", head=500, height=10, read_through_at=late)
    make_live_chain("polygon", head_at=late, read_through_at=late)
    make_transfer(make_checkout(), queued_at=late)
    for kind in IncidentKind:
        of_a_chain = kind in (IncidentKind.CHAIN, IncidentKind.SOURCES)
        values = {"kind": kind, "chain": "base" if of_a_chain else ""}
        Incident.objects.create(**values, began_at=late)
        Incident.objects.create(**values, stopped=True, began_at=late - timedelta(days=2), ended_at=late)


def test_it_is_whole_on_every_screen_and_clean_for_axe_while_all_is_well(still_page: Page, live_server: Any) -> None:
    still_page.goto(f"{live_server.url}/status")
    expect(still_page.get_by_role("heading", level=1)).to_have_text("Everything is working")
    assert faults(still_page, "status") == []


@pytest.mark.parametrize("language", ["en", "ar", "de"])
def test_it_is_whole_on_every_screen_and_clean_for_axe_in_trouble(
    language: str, still_page: Page, live_server: Any
) -> None:
    trouble()
    still_page.goto(f"{live_server.url}/status?lang={language}")
    expect(still_page.locator(".status-incidents > div")).to_have_count(8)
    assert faults(still_page, f"status-trouble-{language}") == []
