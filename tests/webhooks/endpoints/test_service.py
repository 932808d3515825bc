"""Default URLs, secrets, manual retries, disabling, telling owners, retention."""

from datetime import timedelta
from typing import Any

import pytest
from django.core import mail

from accounts.models import AuditEntry, Membership, Merchant
from accounts.states import Mode, Role
from gateway.core.api.errors import InvalidRequestError
from mails.sender import send_due_mails
from tests.factories import NOON, make_merchant, make_user
from tests.webhooks.factories import make_deliveries, make_endpoint, secrets_of
from webhooks.endpoints.secrets import ensure_secret, roll_secret
from webhooks.endpoints.service import disable_endpoint, enable_endpoint, set_default_url, tell_owners
from webhooks.models import Delivery, Endpoint, SigningSecret

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


def set_url(merchant: Merchant, url: str) -> Endpoint | None:
    return set_default_url(merchant, mode=Mode.LIVE, url=url, now=NOON)


def test_the_default_url_can_be_set_changed_and_taken_away(merchant: Merchant) -> None:
    set_url(merchant, "https://a.example/")
    set_url(merchant, "https://b.example/")
    assert Endpoint.objects.get(is_default=True).url == "https://b.example/"
    set_url(merchant, "https://a.example/")
    assert Endpoint.objects.get(is_default=True).url == "https://a.example/"
    assert set_url(merchant, "") is None
    assert not Endpoint.objects.filter(is_default=True).exists()
    assert AuditEntry.objects.filter(action="webhook_url.changed").count() == 4


def test_setting_the_same_url_again_changes_nothing(merchant: Merchant) -> None:
    first = set_url(merchant, "https://a.example/")
    assert set_url(merchant, "https://a.example/") == first
    assert AuditEntry.objects.count() == 1


def test_the_modes_have_urls_of_their_own(merchant: Merchant) -> None:
    set_url(merchant, "https://a.example/")
    set_default_url(merchant, mode=Mode.TEST, url="https://t.example/", now=NOON)
    assert Endpoint.objects.filter(is_default=True).count() == 2


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("ftp://a.example/", "url_invalid"),
        ("a.example/hook", "url_invalid"),
        ("https://", "url_invalid"),
        ("https://a.example:99999/", "url_invalid"),
        ("https://a .example/", "url_invalid"),
        ("https://a.example/\n", "url_invalid"),
        ("https://a.example/" + "x" * 2048, "url_invalid"),
        ("http://a.example/", "url_forbidden"),
        ("https://user:secret@a.example/", "url_forbidden"),
        ("https://10.0.0.1/", "url_forbidden"),
        ("https://[::ffff:127.0.0.1]/", "url_forbidden"),
        ("https://169.254.169.254/latest", "url_forbidden"),
        ("https://localhost./", "url_forbidden"),
    ],
)
def test_a_url_the_sender_would_refuse_is_refused_at_once(
    merchant: Merchant, settings: Any, url: str, code: str
) -> None:
    settings.PRODUCTION, settings.WEBHOOK_ALLOW_LOOPBACK = True, False
    with pytest.raises(InvalidRequestError) as refusal:
        set_url(merchant, url)
    assert (refusal.value.code, refusal.value.param) == (code, "url")
    assert not Endpoint.objects.exists()


def test_development_may_use_plain_http_and_loopback(merchant: Merchant) -> None:
    endpoint = set_url(merchant, "http://localhost:8010/hook")
    assert endpoint is not None
    assert set_url(merchant, "http://127.0.0.1:8010/hook") is not None


def test_naming_a_disabled_url_enables_it(merchant: Merchant) -> None:
    endpoint = set_url(merchant, "https://a.example/")
    assert endpoint is not None
    disable_endpoint(endpoint, reason="test", now=NOON)
    set_url(merchant, "https://a.example/")
    endpoint.refresh_from_db()
    assert endpoint.disabled_at is None


def test_disabling_holds_what_waits_and_enabling_sends_it(merchant: Merchant) -> None:
    endpoint = make_endpoint(merchant, consecutive_failures=9, failing_since=NOON, owner_told_at=NOON)
    first, second = make_deliveries(endpoint, 2)
    Delivery.objects.filter(pk=first.pk).update(status="delivered")
    disable_endpoint(endpoint, reason="test", now=NOON)
    disable_endpoint(endpoint, reason="again", now=NOON)
    second.refresh_from_db()
    assert second.status == "held"
    enable_endpoint(endpoint, now=NOON + HOUR)
    second.refresh_from_db()
    endpoint.refresh_from_db()
    assert (second.status, second.is_due) == ("pending", True)
    assert (endpoint.consecutive_failures, endpoint.failing_since) == (0, None)
    assert endpoint.owner_told_at is None
    first.refresh_from_db()
    assert first.status == "delivered"
    actions = AuditEntry.objects.order_by("pk").values_list("action", flat=True)
    assert list(actions) == ["webhook_endpoint.disabled", "webhook_endpoint.enabled"]


def test_owners_are_told_after_a_day_and_again_after_three(merchant: Merchant) -> None:
    for role in Role:
        Membership.objects.create(merchant=merchant, user=make_user(f"{role}@shop.test"), role=role)
    make_endpoint(merchant, failing_since=NOON)
    told = {hours: tell_owners(now=NOON + hours * HOUR) for hours in (23, 24, 25, 71, 72, 90)}
    assert told == {23: 0, 24: 1, 25: 0, 71: 0, 72: 1, 90: 0}
    assert send_due_mails(now=NOON + 91 * HOUR) == 2
    assert [message.to for message in mail.outbox] == [["owner@shop.test"]] * 2
    assert "http://127.0.0.1:9/" in mail.outbox[0].body


def test_nobody_is_told_of_an_endpoint_that_is_disabled_already(merchant: Merchant) -> None:
    make_endpoint(merchant, failing_since=NOON, disabled_at=NOON)
    assert tell_owners(now=NOON + 30 * HOUR) == 0


def test_setting_a_url_makes_a_secret(merchant: Merchant) -> None:
    set_url(merchant, "https://a.example/")
    assert len(secrets_of(merchant, now=NOON)) == 1


def test_a_secret_is_made_once_and_rests_encrypted(merchant: Merchant) -> None:
    secret = ensure_secret(merchant, now=NOON)
    assert ensure_secret(merchant, now=NOON) == secret
    assert secret.encode() not in bytes(SigningSecret.objects.get().sealed)


def test_a_rolled_secret_and_the_one_before_both_sign_for_a_day(merchant: Merchant) -> None:
    old = ensure_secret(merchant, now=NOON)
    new = roll_secret(merchant, now=NOON)
    assert secrets_of(merchant, now=NOON + 23 * HOUR) == [new, old]
    assert secrets_of(merchant, now=NOON + 24 * HOUR) == [new]
    entry = AuditEntry.objects.get(action="webhook_secret.rolled")
    assert new not in str(entry.after)


def test_a_leaked_secret_can_be_dropped_at_once(merchant: Merchant) -> None:
    ensure_secret(merchant, now=NOON)
    new = roll_secret(merchant, now=NOON, overlap=timedelta())
    assert secrets_of(merchant, now=NOON) == [new]


def test_secrets_are_each_merchants_own(merchant: Merchant) -> None:
    assert ensure_secret(merchant, now=NOON) != ensure_secret(make_merchant(), now=NOON)
    assert len(secrets_of(merchant, now=NOON)) == 1
