"""Endpoints that merchants add: what they may be, who is told, and what is left of a deleted one."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from accounts.audit.actors import SYSTEM, Actor
from accounts.models import AuditEntry, Merchant
from accounts.states import Mode
from gateway.core.api.errors import ConflictError, NotFoundError
from mails.models import OutgoingMail
from tests.dashboard.people import make_member
from tests.factories import NOON, make_merchant
from tests.webhooks.factories import HOOK, make_deliveries, make_endpoint, new_event
from webhooks.delivery.claims import take_endpoints
from webhooks.delivery.retries import retry, retry_range
from webhooks.endpoints.secrets import ensure_secret, sealed_secrets
from webhooks.endpoints.service import set_default_url
from webhooks.listed.service import (
    MOST_LISTED,
    add_endpoint,
    change_endpoint,
    chosen_events,
    delete_endpoint,
    endpoint_named,
    endpoints_of,
    rotate_endpoint_secret,
)
from webhooks.models import Delivery, Endpoint, SigningSecret
from webhooks.outbox.events import publish
from webhooks.states import DeliveryStatus

pytestmark = pytest.mark.django_db
KEY = Actor(label="API key key_1", address="192.0.2.1")


def wanted(url: str = "https://erp.example/", **changes: Any) -> dict[str, Any]:
    """What an endpoint shall be."""
    return {"url": url, "name": "", "events": None, "is_enabled": True} | changes


def add(merchant: Merchant, url: str = "https://erp.example/", *, actor: Actor = SYSTEM, **changes: Any) -> Endpoint:
    """Another endpoint of the merchant's live mode."""
    return add_endpoint(merchant, mode=Mode.LIVE, values=wanted(url, **changes), now=NOON, actor=actor)[0]


def test_an_endpoint_is_listed_beside_the_default_one_and_those_of_checkouts_are_not(merchant: Merchant) -> None:
    default, added = make_endpoint(merchant), add(merchant)
    make_endpoint(merchant, "https://buyer.example/", is_default=False)
    make_endpoint(make_merchant(), "https://stranger.example/")
    add_endpoint(merchant, mode=Mode.TEST, values=wanted(), now=NOON)
    assert set(endpoints_of(merchant.pk, Mode.LIVE)) == {default, added}
    assert endpoint_named(merchant.pk, Mode.LIVE, "whe_default") == default
    assert endpoint_named(merchant.pk, Mode.LIVE, added.public_id or "") == added
    for mode, name in ((Mode.TEST, added.public_id), (Mode.TEST, "whe_default"), (Mode.LIVE, "whe_nobody")):
        with pytest.raises(NotFoundError):
            endpoint_named(merchant.pk, mode, name or "")


def test_no_two_endpoints_have_one_url(merchant: Merchant) -> None:
    make_endpoint(merchant, HOOK)
    listed = add(merchant)
    for url in (HOOK, listed.url):
        with pytest.raises(ConflictError) as refusal:
            add(merchant, url)
        assert refusal.value.code == "duplicate"
    make_endpoint(merchant, "https://buyer.example/", is_default=False)
    for url in (HOOK, "https://buyer.example/"):
        with pytest.raises(ConflictError) as refusal:
            change_endpoint(listed, values=wanted(url), now=NOON)
        assert refusal.value.code == "duplicate"
    with pytest.raises(ConflictError) as refusal:
        set_default_url(merchant, mode=Mode.LIVE, url=listed.url, now=NOON)
    assert (refusal.value.code, Endpoint.objects.get(is_default=True).url) == ("duplicate", HOOK)


def test_no_more_than_twenty_are_listed_in_each_mode(merchant: Merchant) -> None:
    rows = [add(merchant, f"https://erp.example/{number}") for number in range(MOST_LISTED)]
    with pytest.raises(ConflictError) as refusal:
        add(merchant)
    assert refusal.value.code == "capacity_exhausted"
    add_endpoint(merchant, mode=Mode.TEST, values=wanted(), now=NOON)
    delete_endpoint(rows[0], now=NOON)
    assert add(merchant).public_id


def test_who_hears_of_a_payment_hears_that_it_was_taken_back() -> None:
    assert chosen_events(["checkout.restored", "checkout.completed", "checkout.completed"]) == [
        "checkout.completed",
        "checkout.reversed",
        "checkout.restored",
    ]
    assert chosen_events(["checkout.expired"]) == ["checkout.expired"]


def test_a_url_that_checkouts_named_gets_a_secret_of_its_own_once_it_is_listed(merchant: Merchant) -> None:
    row = make_endpoint(merchant, "https://buyer.example/", is_default=False)
    secret = ensure_secret(merchant, now=NOON)
    before = sealed_secrets({row.pk: merchant.pk}, now=NOON)
    endpoint, own = add_endpoint(merchant, mode=Mode.LIVE, values=wanted(row.url), now=NOON)
    assert endpoint == row
    assert own != secret
    assert sealed_secrets({row.pk: merchant.pk}, now=NOON) != before
    delete_endpoint(endpoint, now=NOON)
    assert sealed_secrets({row.pk: merchant.pk}, now=NOON) == before


def test_a_secret_is_rotated_alone_and_the_one_before_signs_for_a_day(merchant: Merchant) -> None:
    ensure_secret(merchant, now=NOON)
    first, second = add(merchant), add(merchant, "https://crm.example/")
    keys = {first.pk: merchant.pk, second.pk: merchant.pk}
    before = sealed_secrets(keys, now=NOON)
    rotate_endpoint_secret(first, now=NOON)
    later = NOON + timedelta(hours=23)
    assert {key: len(found) for key, found in sealed_secrets(keys, now=later).items()} == {first.pk: 2, second.pk: 1}
    after = sealed_secrets(keys, now=NOON + timedelta(hours=24))
    assert after[second.pk] == before[second.pk]
    assert (len(after[first.pk]), after[first.pk] == before[first.pk]) == (1, False)
    assert SigningSecret.objects.filter(merchant=merchant, expires_at=None).count() == 1


def test_the_merchants_secret_is_rotated_without_the_endpoints(merchant: Merchant) -> None:
    endpoint = add(merchant)
    # What a process of the release before does: it knows secrets by their merchant alone.
    assert not SigningSecret.objects.filter(merchant=merchant).exists()
    SigningSecret.objects.filter(merchant=merchant, expires_at=None).update(expires_at=NOON)
    assert endpoint.pk in sealed_secrets({endpoint.pk: merchant.pk}, now=NOON + timedelta(days=9))


def test_a_process_of_the_release_before_writes_endpoints_and_secrets(merchant: Merchant) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO webhooks_endpoint (merchant_id, mode, url, is_default, consecutive_failures, disabled_reason,"
            " served_by, created_at) VALUES (%s, 'live', %s, true, 0, '', '', now())",
            [merchant.pk, HOOK],
        )
        cursor.execute(
            "INSERT INTO webhooks_signingsecret (merchant_id, sealed, created_at) VALUES (%s, '\\x00', now())",
            [merchant.pk],
        )
    endpoint = Endpoint.objects.get()
    assert (endpoint.public_id, endpoint.events, endpoint.name) == (None, None, "")
    assert endpoint_named(merchant.pk, Mode.LIVE, "whe_default") == endpoint
    assert sealed_secrets({endpoint.pk: merchant.pk}, now=NOON) == {endpoint.pk: [b"\x00"]}


def test_a_secret_has_one_owner_and_an_endpoint_one_current_secret(merchant: Merchant) -> None:
    endpoint = add(merchant)
    for owners in ({}, {"merchant": merchant, "endpoint": endpoint}, {"endpoint": endpoint}):
        with pytest.raises(IntegrityError), transaction.atomic():
            SigningSecret.objects.create(sealed=b"", **owners)


def test_what_did_not_arrive_at_a_deleted_endpoint_is_cancelled_and_never_sent_there(merchant: Merchant) -> None:
    make_endpoint(merchant)
    endpoint = add(merchant, name="Bookkeeping", events=["checkout.completed"])
    rows = [make_deliveries(endpoint)[0] for _ in DeliveryStatus]
    for row, status in zip(rows, DeliveryStatus, strict=True):
        Delivery.objects.filter(pk=row.pk).update(status=status)
    delete_endpoint(endpoint, now=NOON)
    left = list(Delivery.objects.filter(endpoint=endpoint).order_by("pk").values_list("status", flat=True))
    assert left == ["cancelled", "cancelled", "delivered", "cancelled", "cancelled"]
    assert set(endpoints_of(merchant.pk, Mode.LIVE).values_list("is_default", flat=True)) == {True}
    publish([new_event(merchant)], now=NOON)
    assert Delivery.objects.filter(endpoint=endpoint).count() == len(rows)
    with pytest.raises(ConflictError):
        retry(Delivery.objects.get(pk=rows[0].pk), now=NOON)
    hour = timedelta(hours=1)
    assert retry_range(merchant, mode=Mode.LIVE, since=NOON - hour, until=NOON + hour, now=NOON) == 1
    for act in (delete_endpoint, rotate_endpoint_secret):
        with pytest.raises(NotFoundError):
            act(endpoint, now=NOON)


def test_a_deleted_endpoint_that_was_off_is_on_for_checkouts_that_name_its_url(merchant: Merchant) -> None:
    endpoint = add(merchant, is_enabled=False)
    Endpoint.objects.filter(pk=endpoint.pk).update(consecutive_failures=9, failing_since=NOON, owner_told_at=NOON)
    publish([new_event(merchant, url=endpoint.url)], now=NOON)
    delete_endpoint(endpoint, now=NOON)
    endpoint.refresh_from_db()
    assert (endpoint.health, endpoint.disabled_reason, endpoint.failing_since) == ("healthy", "", None)
    assert Delivery.objects.get().status == DeliveryStatus.CANCELLED
    publish([new_event(merchant, url=endpoint.url)], now=NOON)
    assert list(Delivery.objects.order_by("pk").values_list("status", flat=True)) == ["cancelled", "pending"]


def test_failures_of_a_url_are_none_of_the_next_ones(merchant: Merchant) -> None:
    endpoint, lease = add(merchant), timedelta(seconds=15)
    later = NOON + timedelta(hours=20)
    Endpoint.objects.update(consecutive_failures=9, failing_since=NOON, owner_told_at=NOON, next_probe_at=later)
    publish([new_event(merchant)], now=NOON)
    kept = change_endpoint(endpoint, values=wanted(name="Bookkeeping"), now=NOON)
    assert (kept.health, take_endpoints("one", now=NOON, lease=lease)) == ("probation", {})
    moved = change_endpoint(endpoint, values=wanted("https://crm.example/"), now=NOON)
    assert (moved.health, moved.failing_since, moved.owner_told_at) == ("healthy", None, None)
    assert take_endpoints("one", now=NOON, lease=lease) == {endpoint.pk: merchant.pk}


def test_a_person_with_the_longest_address_disables_an_endpoint(owned_merchant: Merchant) -> None:
    person = make_member(owned_merchant)
    person.email = f"{'a' * 60}@{'.'.join(['b' * 60] * 3)}.example"
    person.save()
    endpoint = change_endpoint(add(owned_merchant), values=wanted(is_enabled=False), now=NOON, actor=Actor(person))
    assert endpoint.disabled_reason == f"Disabled by {person.email[:80]}."


def test_people_change_the_default_endpoint_elsewhere(merchant: Merchant) -> None:
    default = make_endpoint(merchant)
    with pytest.raises(ConflictError):
        change_endpoint(default, values=wanted(), now=NOON)
    with pytest.raises(ConflictError):
        delete_endpoint(default, now=NOON)
    with pytest.raises(ConflictError):
        rotate_endpoint_secret(default, now=NOON)


def test_owners_hear_once_an_hour_what_a_key_did_and_each_time_what_a_person_did(owned_merchant: Merchant) -> None:
    person = Actor(make_member(owned_merchant))
    OutgoingMail.objects.all().delete()
    owners = 2
    first = add(owned_merchant, "https://a.example/", actor=KEY)
    add(owned_merchant, "https://b.example/", actor=KEY)
    assert OutgoingMail.objects.filter(text__contains="API key key_1 added a webhook endpoint").count() == owners
    assert OutgoingMail.objects.count() == owners
    later = NOON + timedelta(hours=1)
    change_endpoint(first, values=wanted("https://c.example/"), now=later, actor=KEY)
    assert OutgoingMail.objects.filter(text__contains="moved a webhook endpoint").count() == owners
    for minute, on in enumerate((False, True, False, True)):
        values = wanted("https://c.example/", is_enabled=on)
        change_endpoint(first, values=values, now=later + timedelta(minutes=minute), actor=person)
    assert OutgoingMail.objects.filter(text__contains="enabled a webhook endpoint").count() == 2 * owners
    rotate_endpoint_secret(first, now=later + timedelta(hours=1), actor=KEY)
    assert OutgoingMail.objects.filter(text__contains="rotated the secret").count() == owners
    delete_endpoint(first, now=later + timedelta(hours=2), actor=KEY)
    assert OutgoingMail.objects.filter(text__contains="deleted a webhook endpoint").count() == owners
    actions = list(AuditEntry.objects.order_by("pk").values_list("action", flat=True))
    assert [name for name in actions if name.startswith("webhook_endpoint")] == [
        "webhook_endpoint.added",
        "webhook_endpoint.added",
        "webhook_endpoint.changed",
        *["webhook_endpoint.disabled", "webhook_endpoint.changed"],
        *["webhook_endpoint.enabled", "webhook_endpoint.changed"],
        *["webhook_endpoint.disabled", "webhook_endpoint.changed"],
        *["webhook_endpoint.enabled", "webhook_endpoint.changed"],
        "webhook_endpoint.secret_rotated",
        "webhook_endpoint.deleted",
    ]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"url": "https://thief.example/"}, "moved"),
        ({"is_enabled": False}, "changed"),
        ({"events": ["checkout.expired"]}, "changed"),
        ({"events": ["checkout.expired"], "is_enabled": False}, "changed"),
        ({"dialect": {"store": "mer_1", "events": ["InvoiceInvalid"], "makes_orders": False}}, "changed"),
        ({"name": "Bookkeeping"}, None),
    ],
)
def test_owners_hear_of_each_change_that_a_key_makes_but_a_name(
    change: dict[str, Any], words: str | None, owned_merchant: Merchant
) -> None:
    dialect = {"store": "mer_1", "events": ["InvoiceInvalid", "InvoiceExpired"], "makes_orders": False}
    values = wanted() | {"dialect": dialect}
    endpoint = add(owned_merchant, dialect=dialect)
    change_endpoint(endpoint, values=values | change, now=NOON, actor=KEY)
    assert [mail.text.split("\n")[0] for mail in OutgoingMail.objects.all()] == (
        [f"API key key_1 {words} a webhook endpoint of {owned_merchant.name}, for live events:"] if words else []
    )
    assert AuditEntry.objects.filter(action="webhook_endpoint.changed").count() == 1


def test_a_change_that_changes_nothing_is_told_to_nobody(owned_merchant: Merchant) -> None:
    endpoint = add(owned_merchant)
    before = AuditEntry.objects.count()
    change_endpoint(endpoint, values=wanted(), now=NOON, actor=KEY)
    assert (AuditEntry.objects.count(), OutgoingMail.objects.count()) == (before, 0)
