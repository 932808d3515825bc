"""The page of API keys: who may make one, where its secret is seen, and what revoking does."""

import hashlib
import re
import time
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from unittest import mock

import pytest
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.utils import timezone

from accounts.audit.actors import Actor
from accounts.keys.authentication import principal_of
from accounts.keys.forms import KeyForm
from accounts.keys.service import digest_of, new_key, revoke_api_key
from accounts.merchants.service import create_merchant
from accounts.models import ApiKey, AuditEntry, Membership, Merchant
from accounts.states import SCOPES_OF_0_25, FeeTier, Mode, Preset, Role
from gateway.core.api.errors import AuthenticationError
from tests.dashboard.people import Desk, log_in, make_desk
from tests.factories import NOON, make_key, make_merchant, make_user

pytestmark = pytest.mark.django_db


def secret_of(page: str) -> str:
    _, _, after = page.partition('id="secret">')
    return after.partition("<")[0]


def asks_api(secret: str) -> int:
    answer = Client().get("/api/v1/checkouts", headers={"authorization": f"Bearer {secret}"})
    return answer.status_code


@pytest.mark.parametrize("mode", Mode)
def test_a_new_key_works_in_the_mode_of_its_page_and_is_audited(mode: Mode) -> None:
    owner = make_desk(mode=mode)
    answer = owner.post("dashboard_create_key", {"name": "Web shop"})
    secret = secret_of(answer.text)
    assert secret.startswith(f"sk_{mode}_")
    assert asks_api(secret) == 200
    entry = AuditEntry.objects.get(action="api_key.created")
    assert (entry.actor, entry.address) == (owner.user, "127.0.0.1")


def test_a_secret_is_shown_in_one_answer_and_nowhere_else(owner: Desk) -> None:
    answer = owner.post("dashboard_create_key", {"name": "Web shop"})
    secret = secret_of(answer.text)
    assert answer.status_code == 200
    assert "no-store" in answer["Cache-Control"]
    assert secret not in str(dict(owner.client.session))
    assert secret not in str(dict(answer.headers))
    after = owner.get("dashboard_keys").text
    assert secret not in after
    assert secret[-4:] in after
    assert secret not in str(list(AuditEntry.objects.values()))


def choose(**levels: str) -> dict[str, str]:
    return {"name": "Books", "preset": "custom"} | {f"may_{name}": level for name, level in levels.items()}


def test_a_key_may_do_what_its_form_chose(owner: Desk) -> None:
    owner.post("dashboard_create_key", choose(links="2", reports="1") | {"lasts": "90", "networks": "203.0.113.7"})
    key = ApiKey.objects.get()
    assert key.scopes == ["links:read", "links:write", "reports:read"]
    assert key.allowed_networks == ["203.0.113.7/32"]
    assert key.expires_at is not None
    assert abs(key.expires_at - timezone.now() - timedelta(days=90)) < timedelta(minutes=1)
    assert key.created_by == owner.user


@pytest.mark.parametrize(("lasts", "days"), [("7", 7), ("30", 30), ("90", 90), ("365", 365), ("never", None)])
def test_a_key_ends_when_its_form_says(owner: Desk, lasts: str, days: int | None) -> None:
    page = owner.get("dashboard_create_key").text
    assert f'value="{lasts}"' in page
    owner.post("dashboard_create_key", choose(links="1") | {"lasts": lasts})
    ends = ApiKey.objects.get().expires_at
    assert (ends is None) is (days is None)
    if ends is not None:
        assert abs(ends - timezone.now() - timedelta(days=days or 0)) < timedelta(minutes=1)


@pytest.mark.parametrize(("preset", "days"), [("agent", 30), ("shop", None), ("everything", None)])
def test_an_agents_key_ends_after_thirty_days_unless_a_person_says_otherwise(
    owner: Desk, preset: str, days: int | None
) -> None:
    lasts = re.search(r'<option value="(\w+)" selected>In 30 days for an agent', owner.get("dashboard_create_key").text)
    assert lasts is not None
    owner.post("dashboard_create_key", {"name": "New", "preset": preset, "lasts": lasts[1]})
    ends = ApiKey.objects.get().expires_at
    assert (ends is None) is (days is None)
    assert ends is None or abs(ends - timezone.now() - timedelta(days=days or 0)) < timedelta(minutes=1)
    page = owner.get("dashboard_key", key_id=ApiKey.objects.get().public_id).text
    # A key that is there has an end, or none.
    assert "for an agent" not in page


@pytest.mark.parametrize(("ends", "hours"), [("0", 0), ("1", 1), ("24", 24), ("168", 168)])
def test_a_rotated_key_ends_when_its_form_says(owner: Desk, ends: str, hours: int) -> None:
    key, old = make_key(owner.merchant)
    secret = secret_of(owner.post("dashboard_rotate_key", {"ends": ends}, key_id=key.public_id).text)
    key.refresh_from_db()
    assert key.expires_at is not None
    assert abs(key.expires_at - timezone.now() - timedelta(hours=hours)) < timedelta(minutes=1)
    assert [asks_api(each) for each in (old, secret)] == [200 if hours else 401, 200]


@pytest.mark.parametrize(("page", "sent"), [("dashboard_rotate_key", {"ends": "24"}), ("dashboard_revoke_key", {})])
def test_a_rotation_and_a_revocation_need_a_new_login(owner: Desk, page: str, sent: dict[str, str]) -> None:
    key, secret = make_key(owner.merchant)
    stale = Desk(log_in(owner.user, fresh=False), owner.merchant, owner.user)
    assert stale.post(page, sent, key_id=key.public_id)["Location"].startswith("/account/reauthenticate/")
    key.refresh_from_db()
    assert (key.replaced_by, key.revoked_at, asks_api(secret)) == (None, None, 200)


def test_a_person_sees_what_a_key_did_last_and_both_keys_of_a_rotation(owner: Desk) -> None:
    key, _ = make_key(owner.merchant, networks=("10.0.0.0/8",))
    now = timezone.now()
    used = {"last_used_at": now, "last_used_from": "10.0.0.5", "last_used_scope": "checkouts:write"}
    used |= {"last_used_agent": "florin-mcp/0.1 (<i>an assistant</i>)"}
    ApiKey.objects.filter(pk=key.pk).update(**used)
    owner.post("dashboard_rotate_key", {"ends": "24"}, key_id=key.public_id)
    fresh = ApiKey.objects.get(replaces=key)
    listed = owner.get("dashboard_keys").text
    assert all(f"/{each.public_id}/" in listed for each in (key, fresh))
    page = owner.get("dashboard_key", key_id=key.public_id).text
    assert all(word in page for word in ("10.0.0.5", "checkouts:write", "10.0.0.0/8", f"/{fresh.public_id}/"))
    assert "by florin-mcp/0.1 (&lt;i&gt;an assistant&lt;/i&gt;)" in page


def test_a_form_of_before_scopes_makes_a_key_of_before_scopes(owner: Desk) -> None:
    owner.post("dashboard_create_key", {"name": "Web shop"})
    assert tuple(ApiKey.objects.get().scopes) == SCOPES_OF_0_25


@pytest.mark.parametrize(
    ("sent", "word"),
    [
        ({}, "at least one thing"),
        ({"may_links": "1", "networks": "10.0.0.1/8"}, "is no network"),
        ({"may_links": "1", "networks": "example.com"}, "is no network"),
        ({"may_links": "1", "networks": " ".join(f"10.0.{n}.0/24" for n in range(21))}, "at most 20"),
        ({"may_links": "3"}, "not one of the available choices"),
    ],
)
def test_a_form_that_cannot_be_meant_is_refused(owner: Desk, sent: dict[str, str], word: str) -> None:
    answer = owner.post("dashboard_create_key", choose() | sent)
    assert answer.status_code == 422
    assert word in answer.text
    assert not ApiKey.objects.exists()


def test_narrowing_needs_no_new_login_and_widening_does(owner: Desk) -> None:
    key, _ = make_key(owner.merchant, Mode.LIVE, "links:read", "links:write")
    stale = Desk(log_in(owner.user, fresh=False), owner.merchant, owner.user)
    narrowed = stale.post("dashboard_change_key", choose(links="1"), key_id=key.public_id)
    key.refresh_from_db()
    assert (narrowed["Location"], key.scopes) == (owner.url("dashboard_key", key_id=key.public_id), ["links:read"])
    widened = stale.post("dashboard_change_key", choose(links="2"), key_id=key.public_id)
    key.refresh_from_db()
    assert widened["Location"].startswith("/account/reauthenticate/")
    assert key.scopes == ["links:read"]
    owner.post("dashboard_change_key", choose(links="2"), key_id=key.public_id)
    key.refresh_from_db()
    assert key.scopes == ["links:read", "links:write"]


def test_a_saved_form_keeps_what_a_preset_was_when_the_key_was_made(owner: Desk) -> None:
    key, _ = make_key(owner.merchant, Mode.LIVE, "events:read", preset=Preset.AGENT)
    ends = timezone.now() + timedelta(days=3)
    ApiKey.objects.filter(pk=key.pk).update(expires_at=ends)
    owner.post("dashboard_change_key", {"name": "Monitor", "preset": "agent", "lasts": ""}, key_id=key.public_id)
    key.refresh_from_db()
    assert (key.name, key.scopes, key.expires_at) == ("Monitor", ["events:read"], ends)


def test_a_rotation_shows_the_new_secret_once(owner: Desk) -> None:
    key, old = make_key(owner.merchant)
    answer = owner.post("dashboard_rotate_key", {"ends": "24"}, key_id=key.public_id)
    secret = secret_of(answer.text)
    assert [asks_api(each) for each in (old, secret)] == [200, 200]
    page = owner.get("dashboard_key", key_id=key.public_id).text
    assert secret not in page
    assert "Replaced by" in page
    again = owner.post("dashboard_rotate_key", {"ends": "24"}, key_id=key.public_id)
    assert "rotated before" in owner.client.get(again["Location"]).text


@pytest.mark.parametrize(
    ("change", "badge"),
    [
        ({"revoked_at": NOON}, "Revoked"),
        ({"expires_at": NOON}, "Expired"),
        ({"expires_at": timedelta(days=5, hours=1)}, "Expires in 5 days"),
        ({"expires_at": timedelta(hours=1)}, "Expires within two days"),
        ({"last_used_at": timedelta(days=-91)}, "Unused for 90 days"),
        ({"refused_at": timedelta(days=-1), "refused_scope": "events:read"}, "Refused: events:read"),
    ],
)
def test_a_list_says_what_a_person_should_know(owner: Desk, change: dict[str, Any], badge: str) -> None:
    key, _ = make_key(owner.merchant)
    now = timezone.now()
    moved = {name: now + value if isinstance(value, timedelta) else value for name, value in change.items()}
    ApiKey.objects.filter(pk=key.pk).update(**moved)
    assert badge in owner.get("dashboard_keys").text
    assert badge in owner.get("dashboard_key", key_id=key.public_id).text


def test_a_key_of_another_merchant_has_no_page(owner: Desk) -> None:
    key, _ = make_key(make_desk().merchant)
    for route in ("dashboard_change_key", "dashboard_rotate_key"):
        assert owner.post(route, choose(links="1"), key_id=key.public_id).status_code == 404
    assert owner.get("dashboard_key", key_id=key.public_id).status_code == 404


def test_a_revoked_key_is_refused_and_the_act_is_audited(owner: Desk) -> None:
    key, secret = make_key(owner.merchant)
    answer = owner.post("dashboard_revoke_key", key_id=key.public_id)
    assert answer.status_code == 302
    assert asks_api(secret) == 401
    entry = AuditEntry.objects.get(action="api_key.revoked")
    assert (entry.actor, entry.address) == (owner.user, "127.0.0.1")
    assert "Revoked" in owner.get("dashboard_keys").text


def test_keys_of_another_merchant_and_of_the_other_mode_are_not_there(owner: Desk) -> None:
    make_key(make_desk().merchant)
    make_key(owner.merchant, Mode.TEST)
    assert "No keys yet" in owner.get("dashboard_keys").text


@pytest.mark.parametrize("role", [Role.ADMIN, Role.VIEWER])
def test_others_see_the_keys_and_no_controls(owner: Desk, role: Role) -> None:
    key, secret = make_key(owner.merchant)
    page = make_desk(owner.merchant, role).get("dashboard_keys").text
    assert key.last_four in page
    assert secret not in page
    assert "New key" not in page
    assert "Revoke" not in make_desk(owner.merchant, role).get("dashboard_key", key_id=key.public_id).text
    assert make_desk(owner.merchant, role).get("dashboard_create_key").status_code == 403
    assert "Revoke" not in page


def test_a_form_says_the_name_and_nothing_else_of_a_key(owner: Desk) -> None:
    other = make_desk().merchant
    forged = {
        "name": "shop",
        "mode": "test",
        "merchant": other.pk,
        "merchant_id": other.pk,
        "last_four": "0000",
        "digest": "00",
        "public_id": "key_mine",
    }
    secret = secret_of(owner.post("dashboard_create_key", forged).text)
    key = ApiKey.objects.get()
    assert (key.merchant, key.mode) == (owner.merchant, Mode.LIVE)
    assert key.last_four == secret[-4:]
    assert key.public_id != "key_mine"


def test_a_name_that_is_a_script_is_only_a_name(owner: Desk) -> None:
    name = "<script>alert(1)</script>"
    created = owner.post("dashboard_create_key", {"name": name}).text
    for page in (created, owner.get("dashboard_keys").text):
        assert name not in page
        assert "&lt;script&gt;" in page


@pytest.mark.parametrize("name", ["", " ", "a\u202eb", "two\nlines", "x" * 81])
def test_a_name_is_one_visible_line(owner: Desk, name: str) -> None:
    answer = owner.post("dashboard_create_key", {"name": name})
    assert answer.status_code == 422
    assert not ApiKey.objects.exists()


def test_a_form_of_another_site_makes_no_key(owner: Desk) -> None:
    client = log_in(owner.user, enforce_csrf_checks=True)
    answer = client.post(owner.url("dashboard_create_key"), {"name": "shop"})
    assert answer.status_code == 403
    assert not ApiKey.objects.exists()


def test_who_logged_in_long_ago_proves_it_again_and_the_key_is_made_then(owner: Desk) -> None:
    stale = log_in(owner.user, fresh=False)
    answer = stale.post(owner.url("dashboard_create_key"), {"name": "shop"})
    assert answer["Location"].startswith("/account/reauthenticate/")
    assert not ApiKey.objects.exists()
    resumed = stale.post(answer["Location"], {"password": "a password"}, follow=True)
    secret = secret_of(resumed.content.decode())
    assert ApiKey.objects.get().last_four == secret[-4:]
    assert secret not in str(dict(stale.session))


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
    merchant = create_merchant(name="m", actor=Actor(owner), now=NOON)
    assert Membership.objects.get(merchant=merchant).role == Role.OWNER


def test_people_log_in_by_email_whatever_its_capitals():
    make_user("owner@example.test")
    with pytest.raises(IntegrityError), transaction.atomic():
        make_user("OWNER@example.test")


# What a key may be called.


def test_a_key_is_called_by_one_line() -> None:
    form = KeyForm({"name": " Web shop "})
    assert form.is_valid()
    assert form.cleaned_data["name"] == "Web shop"


@pytest.mark.parametrize("name", ["", " ", "x" * 81, "Web\u202eshop"])
def test_no_name_a_long_one_and_a_hidden_one_are_refused(name: str) -> None:
    assert "name" in KeyForm({"name": name}).errors


# The shape of an API key.


@pytest.mark.parametrize("mode", Mode)
def test_a_key_says_its_mode_and_carries_256_random_bits(mode: Mode) -> None:
    key = new_key(mode)
    assert key.startswith(f"sk_{mode}_")
    assert re.fullmatch(rf"sk_{mode}_fl_[\w-]{{43}}_[0-9A-Za-z]{{6}}", key, re.ASCII)
    assert new_key(mode) != key


def test_what_is_stored_is_a_digest() -> None:
    assert digest_of("sk_test_a") == hashlib.sha256(b"sk_test_a").digest()
