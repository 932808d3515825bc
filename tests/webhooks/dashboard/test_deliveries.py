"""The pages of deliveries: hostile answers as text, trying again, and who may."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from accounts.models import AuditEntry, Merchant
from accounts.states import Mode
from gateway.core.api.pagination import PAGE_ROWS
from tests.dashboard.people import Desk, log_in, make_desk
from tests.factories import NOON, make_merchant
from tests.webhooks.factories import HOOK, make_attempt, make_deliveries, make_endpoint, make_failed, new_event
from webhooks.delivery import retries as delivery_services
from webhooks.delivery.retries import retry
from webhooks.endpoints.service import disable_endpoint
from webhooks.models import Delivery, Endpoint, Event
from webhooks.outbox.events import publish
from webhooks.states import DeliveryStatus

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)


def open_delivery(desk: Desk, delivery: Delivery) -> Any:
    return desk.get("dashboard_delivery", delivery_id=delivery.public_id)


def times(since: datetime, until: datetime, status: str = "failed") -> dict[str, str]:
    form = "%Y-%m-%dT%H:%M"
    return {"since": since.strftime(form), "until": until.strftime(form), "status": status}


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


def test_addresses_in_bodies_and_headers_are_masked_for_who_only_looks(
    owner: Desk, viewer: Desk, endpoint: Endpoint
) -> None:
    told = b'{"metadata":{"buyerEmail":"sent@shop.example"}}'
    [event] = publish([new_event(owner.merchant, data=told, url=endpoint.url)], now=NOON)
    delivery = event.deliveries.get()
    make_attempt(
        delivery,
        request_headers={"X-Buyer": "head@shop.example"},
        response_headers={"Location": "https://shop.example/login?email=next%40shop.example"},
        response_body="No account of echo@shop.example",
    )
    whole, masked = open_delivery(owner, delivery).text, open_delivery(viewer, delivery).text
    update = viewer.get("dashboard_delivery_live", delivery_id=delivery.public_id).text
    addresses = ("sent@shop.example", "head@shop.example", "next%40shop.example", "echo@shop.example")
    hidden = ("s•••@shop.example", "h•••@shop.example", "n•••%40shop.example", "e•••@shop.example")
    assert [text in whole for text in addresses] == [True] * 4
    assert [text in masked for text in hidden] == [True] * 4
    # The attempts are in what is put into an open page, too.
    assert [text in update for text in hidden] == [False, True, True, True]
    for page in (masked, update):
        assert [text in page for text in addresses] == [False] * 4


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


def test_what_failed_and_is_tried_again_is_called_failing_and_has_its_tab(viewer: Desk, endpoint: Endpoint) -> None:
    waiting, failing, given_up = make_deliveries(endpoint, 3)
    for delivery in (failing, given_up):
        make_attempt(delivery)
    Delivery.objects.filter(pk=failing.pk).update(tries=5, next_attempt_at=NOON + 5 * HOUR)
    Delivery.objects.filter(pk=given_up.pk).update(tries=12, status=DeliveryStatus.FAILED)
    make_deliveries(make_endpoint(make_merchant()))
    Delivery.objects.exclude(merchant=viewer.merchant).update(tries=1)
    words = 'Failing, try 6 at <time datetime="2026-11-20T17:00:00+00:00">17:00</time>'
    everything = viewer.get("dashboard_deliveries")
    assert everything.text.count("Failing, try") == 1
    assert f'<span class="badge badge--warn">{words}</span>' in everything.text
    page = viewer.get("dashboard_deliveries", "?status=failing")
    assert [one.row.pk for one in page.context["rows"]] == [failing.pk]
    assert [tab.label for tab in page.context["tabs"] if tab.is_current] == ["Failing"]
    for query in (f"?status=failing&q={failing.public_id}", "?status=failing&type=checkout.completed"):
        assert [one.row.pk for one in viewer.get("dashboard_deliveries", query).context["rows"]] == [failing.pk]
    assert viewer.get("dashboard_deliveries", f"?status=failing&q={waiting.public_id}").context["rows"] == []
    assert viewer.get("dashboard_deliveries", "?status=failing&type=other").context["rows"] == []
    assert "Failing, try 6 at" in open_delivery(viewer, failing).text


def test_failing_deliveries_have_pages(viewer: Desk, endpoint: Endpoint) -> None:
    rows = make_deliveries(endpoint, PAGE_ROWS + 1)
    Delivery.objects.update(tries=1)
    first = viewer.get("dashboard_deliveries", "?status=failing")
    assert [one.row.pk for one in first.context["rows"]] == [row.pk for row in rows[:0:-1]]
    older = viewer.get("dashboard_deliveries", f"?{first.context['pager'].older}")
    assert [one.row.pk for one in older.context["rows"]] == [rows[0].pk]
    newer = viewer.get("dashboard_deliveries", f"?{older.context['pager'].newer}")
    assert [one.row.pk for one in newer.context["rows"]] == [one.row.pk for one in first.context["rows"]]


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


def test_what_another_room_retries_without_a_person_is_not_audited(endpoint: Endpoint) -> None:
    [delivery] = make_failed(endpoint)
    retry(delivery, now=NOON)
    assert not AuditEntry.objects.exists()


def test_the_list_is_filtered_by_status_type_and_checkout(viewer: Desk, endpoint: Endpoint) -> None:
    failed, waiting = make_failed(endpoint)[0], make_deliveries(endpoint)[0]
    Delivery.objects.filter(pk=waiting.pk).update(event_type="checkout.expired")

    def shown(query: str) -> set[str]:
        rows = viewer.get("dashboard_deliveries", query).context["rows"]
        return {row.row.public_id for row in rows}

    both = {failed.public_id, waiting.public_id}
    assert shown("") == both
    assert shown("?status=nonsense&after=x&before=%00") == both
    assert shown("?status=failed") == {failed.public_id}
    assert shown("?status=held") == set()
    assert shown("?type=checkout.expired") == {waiting.public_id}
    assert shown("?type=checkout.expired&status=failed") == set()
    assert shown(f"?q={failed.event.subject_id}") == {failed.public_id}
    assert shown(f"?q={failed.event.subject_id}&status=pending") == set()
    assert shown(f"?q={waiting.public_id}") == {waiting.public_id}
    assert shown(f"?q={waiting.event.public_id}") == {waiting.public_id}
    assert shown(f"?q={waiting.public_id[:12]}") == {waiting.public_id}
    assert shown(f"?q={waiting.event.public_id[:12]}&type=checkout.expired") == {waiting.public_id}


def test_pages_of_the_list_meet_without_gaps_or_repeats(viewer: Desk, endpoint: Endpoint) -> None:
    rows = make_deliveries(endpoint, 60)
    # Several of the same instant, and of two statuses, whose order is by key.
    Delivery.objects.filter(pk__in=[row.pk for row in rows[::3]]).update(status=DeliveryStatus.DELIVERED)
    wanted = [row.pk for row in reversed(rows)]
    seen, query, pages = [], "", []
    while True:
        page = viewer.get("dashboard_deliveries", query).context
        pages.append([shown.row.pk for shown in page["rows"]])
        seen += pages[-1]
        if not page["pager"].older:
            break
        query = "?" + page["pager"].older
    assert seen == wanted
    back = viewer.get("dashboard_deliveries", "?" + page["pager"].newer).context
    assert [shown.row.pk for shown in back["rows"]] == pages[-2]


def test_a_delivery_shows_each_try_and_why_it_failed(viewer: Desk, endpoint: Endpoint) -> None:
    [delivery] = make_failed(endpoint)
    make_attempt(delivery, status_code=None, error="connection_refused", duration_ms=3)
    page = open_delivery(viewer, delivery).text
    assert "500 Internal Server Error" in page
    assert "out of coffee" in page
    assert "nginx" in page
    assert "87 ms" in page
    assert "Nothing listens there" in page
    assert delivery.event.subject_id in page
    assert "Send again" not in page


def test_a_range_that_is_too_long_is_refused_and_changes_nothing(
    admin: Desk, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery_services, "MOST_RETRIED", 2)
    make_failed(endpoint, 3)
    data = times(NOON - HOUR, NOON + HOUR)
    query = "?" + "&".join(f"{name}={value}" for name, value in data.items())
    for answer in (admin.get("dashboard_retry_deliveries", query), admin.post("dashboard_retry_deliveries", data)):
        assert answer.status_code == 409
        assert "more than 2 deliveries" in answer.text
    assert not Delivery.objects.filter(status=DeliveryStatus.PENDING).exists()
    assert not AuditEntry.objects.exists()


@pytest.mark.parametrize(
    "change",
    [
        {"until": "2026-11-20T11:00"},
        {"since": "0001-01-01T00:00+14:00"},
        {"until": "9999-12-31T23:59-14:00"},
        {"since": "yesterday"},
        {"status": "delivered"},
    ],
)
def test_a_range_that_is_none_is_refused(change: dict[str, str], admin: Desk) -> None:
    data = times(NOON, NOON + HOUR) | change
    assert admin.post("dashboard_retry_deliveries", data).status_code == 422
    assert not AuditEntry.objects.exists()
