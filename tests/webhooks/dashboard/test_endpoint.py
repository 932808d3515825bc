"""The webhooks desk: where events go, and what it never shows."""

from datetime import timedelta
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.utils import timezone

from accounts.models import AuditEntry, Merchant
from accounts.states import Mode
from mails.models import OutgoingMail
from tests.dashboard.people import PASSWORD, Desk, make_desk
from tests.factories import NOON, make_merchant
from tests.webhooks.factories import HOOK, make_deliveries, make_endpoint, secrets_of
from webhooks.dashboard.queries import failing_count
from webhooks.endpoints.secrets import ensure_secret
from webhooks.endpoints.service import disable_endpoint
from webhooks.models import Endpoint
from webhooks.states import DeliveryStatus

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)


def test_an_admin_names_the_url_and_the_owners_are_told(owner: Desk, admin: Desk) -> None:
    answer = admin.post("dashboard_webhook_url", {"url": HOOK})
    assert answer.status_code == 302
    assert Endpoint.objects.get().url == HOOK
    entry = AuditEntry.objects.get(action="webhook_url.changed")
    assert (entry.actor, entry.address) == (admin.user, "127.0.0.1")
    mail = OutgoingMail.objects.get()
    assert mail.recipient == owner.user.email
    assert HOOK in mail.text
    assert admin.user.email in mail.text


def test_saving_the_same_url_tells_nobody(admin: Desk, endpoint: Endpoint) -> None:
    admin.post("dashboard_webhook_url", {"url": HOOK})
    assert not OutgoingMail.objects.exists()
    assert not AuditEntry.objects.filter(action="webhook_url.changed").exists()


@pytest.mark.parametrize("url", ["https://10.0.0.1/", f"{HOOK}{'x' * 2_048}"], ids=["private", "too long"])
def test_a_url_we_would_not_call_is_refused_at_its_field(url: str, owner: Desk, settings: Any) -> None:
    settings.WEBHOOK_ALLOW_LOOPBACK = False
    answer = owner.post("dashboard_webhook_url", {"url": url})
    assert answer.status_code == 422
    assert list(answer.context["form"].errors) == ["url"]
    assert not Endpoint.objects.exists()


def test_an_empty_url_sends_events_nowhere(owner: Desk, endpoint: Endpoint) -> None:
    owner.post("dashboard_webhook_url", {"url": ""})
    assert not Endpoint.objects.filter(is_default=True).exists()
    assert HOOK in owner.get("dashboard_webhooks").text


def test_each_mode_has_its_own_desk(owner: Desk, endpoint: Endpoint) -> None:
    other = Desk(owner.client, owner.merchant, owner.user, Mode.TEST)
    assert HOOK in owner.get("dashboard_webhooks").text
    assert HOOK not in other.get("dashboard_webhooks").text


def test_a_disabled_endpoint_says_why_and_is_enabled_again(admin: Desk, viewer: Desk, endpoint: Endpoint) -> None:
    held = make_deliveries(endpoint)[0]
    disable_endpoint(endpoint, reason="The endpoint answered 410 Gone.", now=NOON)
    page = admin.get("dashboard_webhooks").text
    assert "410 Gone" in page
    assert "Send test event" not in page
    assert "Enable again" not in viewer.get("dashboard_webhooks").text
    admin.post("dashboard_enable_endpoint", endpoint_id=endpoint.pk)
    held.refresh_from_db()
    assert held.status == DeliveryStatus.PENDING
    entry = AuditEntry.objects.get(action="webhook_endpoint.enabled")
    assert entry.actor == admin.user


def test_endpoints_of_single_checkouts_are_listed_in_pages(owner: Desk) -> None:
    for number in range(25):
        make_endpoint(owner.merchant, f"https://{number}.example/", is_default=False)
    first = owner.get("dashboard_webhooks")
    assert "https://24.example/" in first.text
    assert "https://4.example/" not in first.text
    older = owner.get("dashboard_webhooks", "?" + first.context["others"].older)
    assert "https://4.example/" in older.text
    assert older.context["others"].older == ""


def test_the_desk_never_holds_the_secret(owner: Desk, endpoint: Endpoint) -> None:
    secret = ensure_secret(owner.merchant, now=NOON)
    assert secret not in owner.get("dashboard_webhooks").text
    answer = owner.post("dashboard_webhook_secret")
    assert secret in answer.text
    assert "no-store" in answer["Cache-Control"]
    assert secret not in str(dict(owner.client.session.items()))
    assert owner.get("dashboard_webhook_secret").status_code == 405
    entry = AuditEntry.objects.get(action="webhook_secret.shown")
    assert (entry.actor, entry.address) == (owner.user, "127.0.0.1")


def test_the_secret_is_shown_after_the_password_and_not_before(merchant: Merchant) -> None:
    secret = ensure_secret(merchant, now=NOON)
    desk = make_desk(merchant, fresh=False)
    asked = desk.post("dashboard_webhook_secret")
    assert asked.status_code == 302
    assert not AuditEntry.objects.filter(action="webhook_secret.shown").exists()
    answer = desk.client.post(asked["Location"], {"password": PASSWORD})
    assert secret in answer.text


def test_rolling_keeps_the_old_secret_signing_for_a_day(admin: Desk) -> None:
    old = ensure_secret(admin.merchant, now=NOON)
    answer = admin.post("dashboard_roll_webhook_secret")
    valid = secrets_of(admin.merchant, now=timezone.now())
    assert len(valid) == 2
    assert valid[1] == old
    assert valid[0] in answer.text
    assert old not in answer.text
    page = admin.get("dashboard_webhooks").text
    assert "Old one signs until" in page
    assert admin.user.email in page
    later = timezone.now() + 25 * HOUR
    assert secrets_of(admin.merchant, now=later) == valid[:1]


def test_a_secret_nobody_can_read_any_more_is_told_and_rolled(owner: Desk, settings: Any) -> None:
    ensure_secret(owner.merchant, now=NOON)
    settings.ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    answer = owner.post("dashboard_webhook_secret")
    assert answer["Location"] == owner.url("dashboard_webhooks")
    assert "cannot be read" in owner.get("dashboard_webhooks").text
    assert "whsec_" in owner.post("dashboard_roll_webhook_secret").text


def test_roles_name_the_acts_that_the_desk_offers(viewer: Desk, admin: Desk, endpoint: Endpoint) -> None:
    offers = (">Save<", ">Show<", "Rotate secret", "Send test event")
    page = viewer.get("dashboard_webhooks").text
    assert not [offer for offer in offers if offer in page]
    page = admin.get("dashboard_webhooks").text
    assert [offer for offer in offers if offer in page] == list(offers)


def test_endpoints_in_trouble_are_counted_where_they_matter(owner: Desk, endpoint: Endpoint) -> None:
    seat: Any = owner.get("dashboard_webhooks").wsgi_request.seat
    assert failing_count(seat) == 0
    Endpoint.objects.update(consecutive_failures=5)
    assert failing_count(seat) == 1
    assert "1<span" in owner.get("dashboard_webhooks").text
    abandoned = make_endpoint(owner.merchant, "https://old.example/", is_default=False, disabled_at=NOON)
    assert failing_count(seat) == 1
    make_deliveries(abandoned)
    assert failing_count(seat) == 2
    make_endpoint(make_merchant(), HOOK, disabled_at=NOON)
    make_endpoint(owner.merchant, HOOK, mode=Mode.TEST, disabled_at=NOON)
    assert failing_count(seat) == 2
