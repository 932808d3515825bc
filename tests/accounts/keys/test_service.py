"""What becomes of a key: narrowed, widened, rotated, expired; who is told, and what the audit log keeps."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from accounts.audit.actors import Actor
from accounts.keys.authentication import key_cache, principal_of
from accounts.keys.service import (
    Powers,
    WideningError,
    change_api_key,
    mail_expiring,
    powers_of,
    revoke_api_key,
    rotate_api_key,
    widens,
)
from accounts.models import ApiKey, AuditEntry
from accounts.states import SCOPES_OF_0_25, Mode, Role
from accounts.tasks import mail_expiring_keys_task
from gateway.core.api.errors import AuthenticationError, ConflictError
from gateway.processes.timetable import TIMETABLE
from mails.models import OutgoingMail
from tests.contract.client import ApiClient
from tests.dashboard.people import make_member
from tests.factories import NOON, make_key, make_merchant

pytestmark = pytest.mark.django_db

READ = Powers(("checkouts:read",))
BOTH = Powers(("checkouts:read", "checkouts:write"))
SOON = NOON + timedelta(days=5)


def change(key: ApiKey, powers: Powers, *, name: str = "test") -> None:
    change_api_key(key, name=name, powers=powers, may_widen=True, now=NOON, actor=Actor(make_member(key.merchant)))


def mails() -> list[str]:
    return [mail.subject for mail in OutgoingMail.objects.order_by("pk")]


@pytest.mark.parametrize(
    ("before", "after", "is_wider"),
    [
        (READ, READ, False),
        (BOTH, READ, False),
        (READ, BOTH, True),
        (READ, Powers(("events:read",)), True),
        (READ, Powers(READ.scopes, expires_at=SOON), False),
        (Powers(READ.scopes, expires_at=SOON), READ, True),
        (Powers(READ.scopes, expires_at=NOON), Powers(READ.scopes, expires_at=SOON), True),
        (READ, Powers(READ.scopes, networks=("10.0.0.0/8",)), False),
        (Powers(READ.scopes, networks=("10.0.0.0/8",)), READ, True),
        (Powers(READ.scopes, networks=("10.0.0.0/8",)), Powers(READ.scopes, networks=("10.1.0.0/16",)), False),
        (Powers(READ.scopes, networks=("10.1.0.0/16",)), Powers(READ.scopes, networks=("10.0.0.0/8",)), True),
        (Powers(READ.scopes, networks=("10.0.0.0/8",)), Powers(READ.scopes, networks=("2001:db8::/32",)), True),
    ],
)
def test_what_widens_a_key(before: Powers, after: Powers, is_wider: bool) -> None:
    assert widens(before, after) is is_wider


def test_a_narrowed_key_is_refused_and_nobody_is_mailed() -> None:
    key, secret = make_key(make_merchant(), Mode.LIVE, *BOTH.scopes)
    change(key, READ)
    assert mails() == []
    assert ApiClient(key=secret).create().refusal == (403, "scope_insufficient", None)
    entry = AuditEntry.objects.get(action="api_key.changed")
    assert (entry.before or {})["scopes"] == ["checkouts:read", "checkouts:write"]
    assert (entry.after or {})["scopes"] == ["checkouts:read"]


def test_each_owner_hears_of_a_key_that_may_do_more() -> None:
    key, _ = make_key(make_merchant(), Mode.LIVE, *READ.scopes)
    owner = make_member(key.merchant)
    make_member(key.merchant, Role.ADMIN)
    change_api_key(key, name="test", powers=BOTH, may_widen=True, now=NOON, actor=Actor(owner))
    mail = OutgoingMail.objects.get()
    assert mail.recipient == owner.email
    assert "checkouts:write" in mail.text


def test_what_widens_is_judged_by_the_key_of_now_not_by_the_one_that_the_page_showed() -> None:
    shown, secret = make_key(make_merchant(), Mode.LIVE, *BOTH.scopes)
    ApiKey.objects.filter(pk=shown.pk).update(scopes=list(READ.scopes))
    actor = Actor(make_member(shown.merchant))
    with pytest.raises(WideningError):
        change_api_key(shown, name="again", powers=BOTH, may_widen=False, now=NOON, actor=actor)
    shown.refresh_from_db()
    assert (shown.name, shown.scopes) == ("test", list(READ.scopes))
    assert ApiClient(key=secret).create().refusal == (403, "scope_insufficient", None)


def test_a_change_that_changes_nothing_is_not_kept() -> None:
    key, _ = make_key(make_merchant(), Mode.LIVE, *READ.scopes)
    change(key, powers_of(key))
    assert not AuditEntry.objects.filter(action="api_key.changed").exists()


def test_a_rotated_key_has_a_successor_that_may_do_the_same() -> None:
    old, secret = make_key(make_merchant(), Mode.TEST, *READ.scopes, networks=("10.0.0.0/8",))
    fresh, new_secret = rotate_api_key(old, ends_in=timedelta(days=1), now=NOON, actor=Actor(make_member(old.merchant)))
    old.refresh_from_db()
    assert powers_of(fresh) == Powers(READ.scopes, networks=("10.0.0.0/8",))
    assert (old.replaced_by, old.expires_at) == (fresh, NOON + timedelta(days=1))
    assert fresh.mode == Mode.TEST
    assert new_secret != secret
    assert secret not in str(list(AuditEntry.objects.values()))


def test_both_keys_work_until_the_old_one_ends() -> None:
    old, secret = make_key(make_merchant())
    _, fresh = rotate_api_key(old, ends_in=timedelta(days=365), now=NOON, actor=Actor(make_member(old.merchant)))
    assert [ApiClient(key=each).get("/checkouts").status for each in (secret, fresh)] == [200, 200]
    ApiKey.objects.filter(pk=old.pk).update(expires_at=NOON)
    key_cache.clear()
    with pytest.raises(AuthenticationError, match="expired"):
        principal_of(secret)
    assert ApiClient(key=fresh).get("/checkouts").status == 200


def test_a_rotation_does_not_prolong_a_key() -> None:
    old, _ = make_key(make_merchant(), expires_at=NOON + timedelta(hours=1))
    rotate_api_key(old, ends_in=timedelta(days=7), now=NOON, actor=Actor(make_member(old.merchant)))
    old.refresh_from_db()
    assert old.expires_at == NOON + timedelta(hours=1)


def test_a_key_is_rotated_once_and_an_ended_one_never() -> None:
    old, _ = make_key(make_merchant())
    owner = make_member(old.merchant)
    rotate_api_key(old, ends_in=timedelta(days=1), now=NOON, actor=Actor(owner))
    with pytest.raises(ConflictError, match="rotated before"):
        rotate_api_key(old, ends_in=timedelta(days=1), now=NOON, actor=Actor(owner))
    revoked, _ = make_key(old.merchant)
    revoke_api_key(revoked, now=NOON)
    expired, _ = make_key(old.merchant, expires_at=NOON)
    for ended in (revoked, expired):
        with pytest.raises(ConflictError, match="ended"):
            rotate_api_key(ended, ends_in=timedelta(days=1), now=NOON, actor=Actor(owner))
        with pytest.raises(ConflictError, match="ended"):
            change(ended, READ)


def test_owners_hear_once_of_a_key_that_expires_within_a_week() -> None:
    merchant = make_merchant()
    make_member(merchant)
    make_key(merchant, expires_at=NOON + timedelta(days=8))
    make_key(merchant, expires_at=NOON)
    rotated, _ = make_key(merchant, expires_at=SOON)
    rotate_api_key(rotated, ends_in=timedelta(days=1), now=NOON, actor=Actor(make_member(make_merchant())))
    ApiKey.objects.filter(replaces=rotated).update(expires_at=None)
    gone, _ = make_key(merchant, expires_at=SOON)
    revoke_api_key(gone, now=NOON)
    make_key(merchant, expires_at=SOON)
    assert mail_expiring(now=NOON) == 1
    assert mail_expiring(now=NOON + timedelta(hours=1)) == 0
    assert mails() == [f"An API key expires soon ({merchant.name})"]


def test_keys_that_expire_are_looked_for_each_hour() -> None:
    task = mail_expiring_keys_task.name
    assert [entry["schedule"] for entry in TIMETABLE.values() if entry["task"] == task] == [timedelta(hours=1)]


def test_the_mail_says_what_keeps_a_program_going_which_a_rotation_does_not() -> None:
    old, _ = make_key(make_merchant(), expires_at=SOON)
    fresh, _ = rotate_api_key(old, ends_in=timedelta(days=1), now=NOON, actor=Actor(make_member(old.merchant)))
    assert fresh.expires_at == SOON
    assert mail_expiring(now=NOON) == 1
    text = OutgoingMail.objects.get().text
    assert "Give it a later end" in text
    assert "Rotate it" not in text


@pytest.mark.parametrize("broken", [{"scopes": []}, {"allowed_networks": ["10.0.0.0/8"] * 21}])
def test_the_database_refuses_a_key_that_may_do_nothing_or_has_too_many_networks(broken: dict[str, Any]) -> None:
    key, _ = make_key(make_merchant())
    with pytest.raises(IntegrityError), transaction.atomic():
        ApiKey.objects.filter(pk=key.pk).update(**broken)


def test_a_key_that_a_process_of_0_25_makes_during_an_upgrade_does_what_keys_did_then() -> None:
    """Its INSERT names none of the new columns."""
    key, _ = make_key(make_merchant())
    columns = ["public_id", "merchant_id", "mode", "name", "digest", "last_four", "created_at"]
    made = dict(zip(columns, ("key_old", key.merchant_id, "live", "old", b"1" * 32, "abcd", NOON), strict=True))
    marks = ", ".join(["%s"] * len(columns))
    with transaction.get_connection().cursor() as cursor:
        cursor.execute(f"INSERT INTO accounts_apikey ({', '.join(columns)}) VALUES ({marks})", list(made.values()))
    old = ApiKey.objects.get(public_id="key_old")
    assert powers_of(old).scopes == SCOPES_OF_0_25
    assert old.preset == "everything"
