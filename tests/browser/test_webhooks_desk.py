"""The webhooks desk in a browser: rolling the secret, a delivery that fails and then arrives, and how all of it looks."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import stripe
from django.utils import timezone
from playwright.sync_api import BrowserContext, Page, expect

from accounts.audit.actors import Actor
from accounts.states import Mode
from gateway.core.ids import new_id
from tests.browser.dashboard import log_in_browser, look
from tests.dashboard.people import Desk
from tests.waiting import wait_until
from tests.webhooks.factories import make_deliveries, make_endpoint, secrets_of
from tests.webhooks.receiver import Receiver, Reply
from tests.webhooks.senders import sending
from webhooks.endpoints.secrets import ensure_secret, roll_secret
from webhooks.endpoints.service import disable_endpoint
from webhooks.models import Attempt, Delivery, Endpoint
from webhooks.states import DeliveryStatus

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
HOOK = "https://shop.example/hooks/florin"

OpenDesk = Callable[..., Page]


@pytest.fixture
def open_desk(open_context: Callable[..., BrowserContext], live_server: Any) -> OpenDesk:
    """Open a page of the dashboard as somebody."""

    def open_one(desk: Desk, name: str, query: str = "", **kwargs: Any) -> Page:
        context = open_context(reduced_motion="reduce")
        log_in_browser(context, live_server.url, desk.user)
        page = context.new_page()
        page.goto(live_server.url + desk.url(name, **kwargs) + query)
        return page

    return open_one


def test_rolling_the_secret_shows_the_new_one_and_both_sign(admin: Desk, open_desk: OpenDesk) -> None:
    old = ensure_secret(admin.merchant, now=timezone.now())
    page = open_desk(admin, "dashboard_webhooks")
    page.get_by_role("button", name="Rotate secret", exact=True).click()
    dialog = page.get_by_role("dialog", name="Rotate the secret?")
    dialog.get_by_role("button", name="Rotate secret").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Your new signing secret")
    new, still = secrets_of(admin.merchant, now=timezone.now())
    expect(page.locator("#secret")).to_have_text(new)
    assert still == old != new
    page.get_by_role("link", name="Done").click()
    expect(page.get_by_text("Old one signs until")).to_be_visible()
    expect(page.get_by_role("main")).not_to_contain_text(new)


def test_a_delivery_that_failed_arrives_when_it_is_sent_again(
    admin: Desk, open_desk: OpenDesk, receiver: Receiver
) -> None:
    endpoint = make_endpoint(admin.merchant, receiver.url)
    secret = ensure_secret(admin.merchant, now=timezone.now())
    receiver.reply = lambda _got: Reply(503, body=b"<b>down</b> for <script>alert(1)</script>")
    [delivery] = make_deliveries(endpoint)
    with sending():
        wait_until(lambda: Attempt.objects.filter(delivery=delivery).exists())
        page = open_desk(admin, "dashboard_deliveries")
        page.get_by_role("link", name="checkout.completed").click()
        expect(page.locator("#live")).to_contain_text("503 Service Unavailable")
        # A tag that a server answered with is text, and no policy had to stop it.
        expect(page.locator("#live pre").first).to_have_text("<b>down</b> for <script>alert(1)</script>")
        receiver.reply = lambda _got: Reply()
        page.get_by_role("button", name="Send again").click()
        expect(page.locator("#live")).to_contain_text("200 OK", timeout=15_000)
        expect(page.locator("#live .badge").first).to_have_text("Delivered")
    got = receiver.got[-1]
    header = got.headers["X-Service-Signature"]
    assert stripe.WebhookSignature.verify_header(got.body.decode(), header, secret, 300)
    assert "X-Service-Sample" not in got.headers


def test_a_test_event_arrives_signed_and_marked_and_its_answer_appears(
    admin: Desk, open_desk: OpenDesk, receiver: Receiver
) -> None:
    make_endpoint(admin.merchant, receiver.url)
    secret = ensure_secret(admin.merchant, now=timezone.now())
    page = open_desk(admin, "dashboard_webhooks")
    page.get_by_role("button", name="Send test event").click()
    expect(page.get_by_text("This is a test event.")).to_be_visible()
    expect(page.locator("#live")).to_contain_text("On its way")
    with sending():
        expect(page.locator("#live")).to_contain_text("200 OK", timeout=15_000)
    expect(page.locator("#live")).to_contain_text(" ms")
    [got] = receiver.got
    header = got.headers["X-Service-Signature"]
    assert stripe.WebhookSignature.verify_header(got.body.decode(), header, secret, 300)
    assert got.headers["X-Service-Sample"] == "true"
    assert b'"livemode":false' in got.body


def test_a_time_range_is_counted_and_then_sent_again(admin: Desk, open_desk: OpenDesk) -> None:
    endpoint = make_endpoint(admin.merchant, HOOK)
    make_deliveries(endpoint, 3)
    Delivery.objects.update(status=DeliveryStatus.FAILED, is_due=False, created_at=timezone.now())
    page = open_desk(admin, "dashboard_retry_deliveries")
    page.get_by_role("button", name="Count them").click()
    expect(page.get_by_role("status")).to_contain_text("3 deliveries would be sent")
    assert look(page, "webhooks-range") == []
    page.get_by_role("button", name="Send them again").click()
    expect(page.get_by_role("status")).to_contain_text("3 deliveries are being sent")
    assert Delivery.objects.filter(status=DeliveryStatus.PENDING).count() == 3


def furnish(desk: Desk) -> list[Delivery]:
    """A desk with something of everything."""
    now = timezone.now()
    endpoint = make_endpoint(desk.merchant, HOOK)
    ensure_secret(desk.merchant, now=now - timedelta(days=30))
    roll_secret(desk.merchant, now=now, actor=Actor(desk.user))
    rows = make_deliveries(endpoint, len(DeliveryStatus) + 2)
    statuses = [*DeliveryStatus, DeliveryStatus.DELIVERED, DeliveryStatus.DELIVERED]
    for row, status in zip(rows, statuses, strict=True):
        Delivery.objects.filter(pk=row.pk).update(status=status, finished_at=now, next_attempt_at=now)
        is_well = status == DeliveryStatus.DELIVERED
        make_attempt(row, 200 if is_well else 502)
    refused = make_attempt(rows[3], None, error="connection_refused")
    assert refused.pk
    other = make_endpoint(desk.merchant, "https://stall-7.example/very/own/hook", is_default=False)
    make_deliveries(other)
    disable_endpoint(other, reason="The endpoint answered 410 Gone.", now=now)
    make_endpoint(desk.merchant, f"https://{'long' * 60}.example/", is_default=False)
    listed = {"is_default": False, "public_id": new_id("whe"), "name": "Warehouse", "events": ["checkout.reversed"]}
    make_endpoint(desk.merchant, "https://warehouse.example/hook", **listed)
    return rows


def make_attempt(row: Delivery, code: int | None, error: str = "") -> Attempt:
    """A try of now."""
    return Attempt.objects.create(
        delivery=row,
        started_at=timezone.now(),
        duration_ms=143,
        status_code=code,
        error=error,
        request_headers={
            "Content-Type": "application/json",
            "X-Service-Event": "checkout.completed",
            "X-Service-Signature": f"t=1795000000,v1={'5f8c' * 16}",
            "webhook-signature": "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
        },
        response_headers={"Server": "nginx", "Content-Type": "text/html"} if code else {},
        response_body="<html>\n<h1>502 Bad Gateway</h1>\n" * 3 if code == 502 else "",
    )


def test_the_desk_is_accessible_and_fits_the_screen(admin: Desk, open_desk: OpenDesk) -> None:
    furnish(admin)
    assert look(open_desk(admin, "dashboard_webhooks"), "webhooks-desk") == []


def test_an_endpoint_is_added_shown_and_deleted_on_pages_that_are_accessible(admin: Desk, open_desk: OpenDesk) -> None:
    page = open_desk(admin, "dashboard_webhooks")
    page.get_by_role("link", name="Add endpoint").click()
    assert look(page, "webhooks-add") == []
    page.get_by_label("URL").fill("https://erp.example/florin/" + "very-long/" * 12)
    page.get_by_label("Name").fill("Bookkeeping")
    page.get_by_label("checkout.underpaid").uncheck()
    page.get_by_role("button", name="Add endpoint").click()
    expect(page.locator("#secret")).to_contain_text("whsec_")
    page.get_by_role("link", name="Done").click()
    assert look(page, "webhooks-listed") == []
    page.get_by_role("link", name="Bookkeeping").click()
    expect(page.get_by_label("checkout.underpaid")).not_to_be_checked()
    assert look(page, "webhooks-endpoint") == []
    page.get_by_role("button", name="Delete endpoint").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete endpoint").click()
    expect(page.get_by_role("status")).to_contain_text("The endpoint is deleted")
    assert not Endpoint.objects.filter(public_id__isnull=False).exists()


def test_the_deliveries_are_accessible_and_fit_the_screen(admin: Desk, open_desk: OpenDesk) -> None:
    rows = furnish(admin)
    page = open_desk(admin, "dashboard_deliveries")
    assert look(page, "webhooks-deliveries") == []
    failed = rows[3].public_id
    page = open_desk(admin, "dashboard_delivery", delivery_id=failed)
    assert look(page, "webhooks-delivery") == []


def test_empty_pages_explain_themselves(admin: Desk, open_desk: OpenDesk) -> None:
    assert look(open_desk(admin, "dashboard_webhooks"), "webhooks-new") == []
    page = open_desk(admin, "dashboard_deliveries")
    expect(page.get_by_text("Nothing was sent yet")).to_be_visible()
    assert look(page, "webhooks-none") == []


def test_what_is_wrong_with_an_endpoint_is_plain_to_see(admin: Desk, open_desk: OpenDesk) -> None:
    endpoint = make_endpoint(admin.merchant, HOOK, mode=Mode.LIVE)
    disable_endpoint(endpoint, reason="Five days of nothing but failures.", now=timezone.now())
    page = open_desk(admin, "dashboard_webhooks")
    assert look(page, "webhooks-disabled") == []
    page.get_by_role("button", name="Enable again").click()
    expect(page.get_by_role("status")).to_contain_text("The endpoint is on")
    assert Endpoint.objects.get().disabled_at is None


def test_the_secret_page_is_accessible(admin: Desk, open_desk: OpenDesk) -> None:
    ensure_secret(admin.merchant, now=timezone.now())
    page = open_desk(admin, "dashboard_webhooks")
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Signing secret")
    assert look(page, "webhooks-secret") == []
