"""Secrets of endpoints: made once, kept encrypted, rotated in a day."""

from datetime import timedelta

import pytest

from accounts.models import AuditEntry, Merchant
from accounts.states import Mode
from tests.factories import NOON, make_merchant
from webhooks.endpoints.secrets import ensure_secret, roll_secret, secrets_of
from webhooks.endpoints.service import set_default_url
from webhooks.models import Endpoint, SigningSecret

pytestmark = pytest.mark.django_db


HOUR = timedelta(hours=1)


def set_url(merchant: Merchant, url: str) -> Endpoint | None:
    return set_default_url(merchant, mode=Mode.LIVE, url=url, now=NOON)


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
