"""The pages of deliveries: hostile answers as text, trying again, and who may."""

import pytest

from accounts.models import AuditEntry, Merchant
from accounts.states import Mode
from tests.dashboard.people import Desk, log_in, make_desk
from tests.factories import NOON, make_merchant
from tests.webhooks.dashboard.desks import HOUR, open_delivery, times
from tests.webhooks.factories import HOOK, make_attempt, make_deliveries, make_endpoint, make_failed
from webhooks.delivery.retries import retry
from webhooks.endpoints.service import disable_endpoint
from webhooks.models import Delivery, Endpoint, Event
from webhooks.states import DeliveryStatus

pytestmark = pytest.mark.django_db

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>"


def test_what_a_hostile_server_answers_stays_text(owner: Desk) -> None:
    # A checkout may name any address that parses, tags and all.
    endpoint = make_endpoint(owner.merchant, f"https://shop.example/{EVIL}")
    [delivery] = make_failed(
        endpoint, response_body=EVIL, response_headers={"Server": EVIL, "Location": "javascript:alert(3)"}, error=EVIL
    )
    Endpoint.objects.update(disabled_at=NOON, disabled_reason=EVIL)
    pages = [
        owner.get("dashboard_webhooks"),
        owner.get("dashboard_deliveries"),
        owner.get("dashboard_deliveries", f"?q={EVIL}&type={EVIL}"),
        open_delivery(owner, delivery),
        owner.get("dashboard_delivery_live", delivery_id=delivery.public_id),
    ]
    for page in pages:
        assert page.status_code == 200
        assert "<script>alert" not in page.text
        assert "<img src=x" not in page.text
        assert 'href="javascript:' not in page.text
    assert "&lt;script&gt;alert(1)" in pages[3].text


def test_the_body_is_shown_as_it_was_sent_number_by_number(viewer: Desk, endpoint: Endpoint) -> None:
    [delivery] = make_failed(endpoint)
    Event.objects.update(body=b'{"z":1.10,"n":1e9999,"e":{},"s":"a{,\\"<b>","l":[1,[]]}')
    page = open_delivery(viewer, delivery)
    assert page.context["body"].splitlines() == [
        "{",
        '  "z": 1.10,',
        '  "n": 1e9999,',
        '  "e": {},',
        r'  "s": "a{,\"<b>",',
        '  "l": [',
        "    1,",
        "    []",
        "  ]",
        "}",
    ]
    assert "&lt;b&gt;&quot;" in page.text


def test_the_page_asks_again_only_while_something_may_change(viewer: Desk, endpoint: Endpoint) -> None:
    [delivery] = make_deliveries(endpoint)
    page = open_delivery(viewer, delivery)
    assert "hx-get" in page.text
    name, seen = "dashboard_delivery_live", f"?seen={page.context['digest']}"
    assert viewer.get(name, seen, delivery_id=delivery.public_id).status_code == 204
    make_attempt(delivery)
    Delivery.objects.update(status=DeliveryStatus.FAILED)
    update = viewer.get(name, seen, delivery_id=delivery.public_id)
    assert "500 Internal Server Error" in update.text
    assert "hx-get" not in update.text


@pytest.mark.parametrize("is_foreign", [True, False])
def test_another_merchants_or_modes_delivery_is_not_found(is_foreign: bool, owner: Desk) -> None:
    elsewhere = make_merchant() if is_foreign else owner.merchant
    endpoint = make_endpoint(elsewhere, HOOK, mode=Mode.LIVE if is_foreign else Mode.TEST)
    [delivery] = make_failed(endpoint)
    arguments = {"delivery_id": delivery.public_id}
    assert owner.get("dashboard_delivery", **arguments).status_code == 404
    assert owner.get("dashboard_delivery_live", **arguments).status_code == 404
    assert owner.post("dashboard_retry_delivery", **arguments).status_code == 404
    for name in ("dashboard_test_event", "dashboard_enable_endpoint"):
        assert owner.post(name, endpoint_id=endpoint.pk).status_code == 404
    assert owner.get("dashboard_deliveries").context["rows"] == []
    query = f"?q={delivery.event.subject_id}"
    assert owner.get("dashboard_deliveries", query).context["rows"] == []
    delivery.refresh_from_db()
    assert delivery.status == DeliveryStatus.FAILED


def test_a_stranger_finds_no_desk(stranger: Desk, endpoint: Endpoint) -> None:
    assert stranger.get("dashboard_webhooks").status_code == 404
    assert stranger.get("dashboard_deliveries").status_code == 404
    assert stranger.post("dashboard_webhook_secret").status_code == 404


def test_forms_without_a_token_are_refused(merchant: Merchant) -> None:
    member = make_desk(merchant).user
    client = log_in(member, enforce_csrf_checks=True)
    desk = Desk(client, merchant, member)
    for name in (
        "dashboard_webhook_url",
        "dashboard_webhook_secret",
        "dashboard_roll_webhook_secret",
        "dashboard_retry_deliveries",
    ):
        assert desk.post(name, {"url": HOOK}).status_code == 403
    assert not AuditEntry.objects.exists()


def test_one_delivery_is_sent_again_by_whom_the_audit_log_says(admin: Desk, endpoint: Endpoint) -> None:
    [delivery] = make_failed(endpoint)
    admin.post("dashboard_retry_delivery", delivery_id=delivery.public_id)
    delivery.refresh_from_db()
    assert (delivery.status, delivery.tries) == (DeliveryStatus.PENDING, 0)
    entry = AuditEntry.objects.get(action="webhook_delivery.retried")
    assert (entry.actor, entry.object_id) == (admin.user, delivery.public_id)


def spread(rows: list[Delivery]) -> None:
    """One event an hour, from noon."""
    for number, row in enumerate(rows):
        row.created_at = NOON + number * HOUR
        row.save(update_fields=["created_at"])


def test_a_range_is_counted_first_and_then_sent_again(admin: Desk, endpoint: Endpoint) -> None:
    rows = make_failed(endpoint, 4)
    spread(rows)
    [foreign] = make_failed(make_endpoint(make_merchant(), HOOK))
    data = times(NOON + HOUR, NOON + 3 * HOUR)
    query = "?" + "&".join(f"{name}={value}" for name, value in data.items())
    page = admin.get("dashboard_retry_deliveries", query)
    assert page.context["count"] == 2
    assert not Delivery.objects.filter(status=DeliveryStatus.PENDING).exists()
    answer = admin.post("dashboard_retry_deliveries", data)
    assert answer["Location"] == admin.url("dashboard_deliveries")
    pending = Delivery.objects.filter(status=DeliveryStatus.PENDING)
    assert list(pending.order_by("pk")) == rows[1:3]
    entry = AuditEntry.objects.get(action="webhook_deliveries.retried")
    assert entry.actor == admin.user
    assert entry.after is not None
    assert (entry.after["deliveries"], entry.after["statuses"]) == (2, ["failed"])
    foreign.refresh_from_db()
    assert foreign.status == DeliveryStatus.FAILED


def test_a_range_passes_over_disabled_endpoints(admin: Desk, endpoint: Endpoint) -> None:
    make_failed(endpoint)
    disable_endpoint(endpoint, reason="off", now=NOON)
    admin.post("dashboard_retry_deliveries", times(NOON - HOUR, NOON + HOUR))
    assert Delivery.objects.get().status == DeliveryStatus.FAILED


def test_a_viewer_retries_nothing(viewer: Desk, endpoint: Endpoint) -> None:
    [delivery] = make_failed(endpoint)
    one = viewer.post("dashboard_retry_delivery", delivery_id=delivery.public_id)
    many = viewer.post("dashboard_retry_deliveries", times(NOON, NOON + HOUR))
    sample = viewer.post("dashboard_test_event", endpoint_id=endpoint.pk)
    url = viewer.post("dashboard_webhook_url", {"url": HOOK + "2"})
    assert {a.status_code for a in (one, many, sample, url)} == {403}
    delivery.refresh_from_db()
    assert delivery.status == DeliveryStatus.FAILED
    assert Event.objects.count() == 1


def test_what_another_room_retries_without_a_person_is_not_audited(endpoint: Endpoint) -> None:
    [delivery] = make_failed(endpoint)
    retry(delivery, now=NOON)
    assert not AuditEntry.objects.exists()
