import time
from contextlib import contextmanager
from datetime import timedelta
from unittest import mock

import pytest
from django.db import IntegrityError, connection, transaction

from accounts.keys.authentication import principal_of
from accounts.keys.service import revoke_api_key
from accounts.merchants.service import create_merchant
from accounts.models import ApiKey, AuditEntry, Membership, Merchant
from accounts.states import FeeTier, Mode, Role
from gateway.core.api.errors import AuthenticationError
from tests.factories import NOON, make_key, make_merchant, make_user

pytestmark = pytest.mark.django_db


def test_a_key_speaks_for_its_merchant_and_mode():
    merchant = make_merchant()
    key, secret = make_key(merchant, Mode.TEST)
    principal = principal_of(secret)
    assert (principal.merchant_id, principal.mode, principal.key_id) == (merchant.pk, Mode.TEST, key.public_id)


@contextmanager
def monotonic_shifted(seconds):
    """time_machine leaves the monotonic clock alone, so the cache's own is moved."""
    later = time.monotonic() + seconds
    with mock.patch("accounts.keys.authentication.time.monotonic", return_value=later):
        yield


def test_a_key_is_looked_up_once_while_the_cache_remembers_it(django_assert_num_queries):
    _, secret = make_key(make_merchant())
    principal_of(secret)
    with django_assert_num_queries(0):
        principal_of(secret)


def test_the_database_keeps_a_digest_and_never_the_key():
    key, secret = make_key(make_merchant())
    with connection.cursor() as cursor:
        cursor.execute("SELECT row_to_json(k)::text FROM accounts_apikey k WHERE id = %s", [key.pk])
        row = cursor.fetchone()[0]
    assert secret not in row
    assert secret.removeprefix("sk_live_")[:8] not in row


def test_an_unknown_key_is_refused():
    with pytest.raises(AuthenticationError) as refusal:
        principal_of("sk_live_nobody")
    assert refusal.value.code == "key_invalid"


def test_a_revoked_key_is_refused_once_the_cache_forgot_it_within_five_seconds(settings):
    assert settings.API_KEY_CACHE_SECONDS < 5
    key, secret = make_key(make_merchant())
    principal_of(secret)
    revoke_api_key(key, now=NOON)
    with monotonic_shifted(settings.API_KEY_CACHE_SECONDS), pytest.raises(AuthenticationError) as refusal:
        principal_of(secret)
    assert refusal.value.code == "key_revoked"


def test_creating_and_revoking_are_audited_once_and_without_the_secret():
    key, secret = make_key(make_merchant())
    revoke_api_key(key, now=NOON)
    revoke_api_key(key, now=NOON + timedelta(minutes=1))
    actions = list(AuditEntry.objects.order_by("pk").values_list("action", flat=True))
    assert actions == ["api_key.created", "api_key.revoked"]
    assert secret not in str(list(AuditEntry.objects.values()))
    assert ApiKey.objects.get().revoked_at == NOON


@pytest.mark.parametrize(
    "statement", ["UPDATE accounts_auditentry SET action = 'x'", "DELETE FROM accounts_auditentry"]
)
def test_audit_entries_cannot_be_changed(statement):
    make_key(make_merchant())
    with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)
    assert AuditEntry.objects.count() == 1


def test_a_plans_rate_is_the_plans():
    with pytest.raises(IntegrityError), transaction.atomic():
        Merchant.objects.create(name="m", fee_tier=FeeTier.GROWTH, fee_rate="0.001")
    assert Merchant.objects.create(name="m", fee_tier=FeeTier.CUSTOM, fee_rate="0.001").pk


def test_the_creator_owns_the_merchant():
    owner = make_user()
    merchant = create_merchant(name="m", owner=owner, now=NOON)
    assert Membership.objects.get(merchant=merchant).role == Role.OWNER


def test_people_log_in_by_email_whatever_its_capitals():
    make_user("owner@example.test")
    with pytest.raises(IntegrityError), transaction.atomic():
        make_user("OWNER@example.test")
