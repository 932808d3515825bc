"""The page of API keys: who may make one, where its secret is seen, and what revoking does."""

import pytest
from django.test import Client

from accounts.models import ApiKey, AuditEntry
from accounts.states import Mode, Role
from tests.dashboard.people import Desk, log_in, make_desk
from tests.factories import make_key

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


def test_a_revoked_key_is_refused_and_the_act_is_audited(owner: Desk) -> None:
    key, secret = make_key(owner.merchant)
    answer = owner.post("dashboard_revoke_key", key_id=key.public_id)
    assert answer.status_code == 302
    assert asks_api(secret) == 401
    entry = AuditEntry.objects.get(action="api_key.revoked")
    assert (entry.actor, entry.address) == (owner.user, "127.0.0.1")
    assert "Revoked" in owner.get("dashboard_keys").text


@pytest.mark.parametrize("role", [Role.ADMIN, Role.VIEWER])
def test_others_see_the_keys_and_no_controls(owner: Desk, role: Role) -> None:
    key, secret = make_key(owner.merchant)
    page = make_desk(owner.merchant, role).get("dashboard_keys").text
    assert key.last_four in page
    assert secret not in page
    assert "Create key" not in page
    assert "Revoke" not in page


@pytest.mark.parametrize("role", [Role.ADMIN, Role.VIEWER])
def test_others_make_and_revoke_nothing(owner: Desk, role: Role) -> None:
    key, _ = make_key(owner.merchant)
    desk = make_desk(owner.merchant, role)
    assert desk.post("dashboard_create_key", {"name": "mine"}).status_code == 403
    revoked = desk.post("dashboard_revoke_key", key_id=key.public_id)
    assert revoked.status_code == 403
    assert ApiKey.objects.filter(revoked_at=None).count() == 1


def test_another_merchants_keys_are_not_there(owner: Desk) -> None:
    key, _ = make_key(make_desk().merchant)
    assert "No keys yet" in owner.get("dashboard_keys").text
    assert owner.post("dashboard_revoke_key", key_id=key.public_id).status_code == 404


def test_keys_of_the_other_mode_are_not_there(owner: Desk) -> None:
    key, _ = make_key(owner.merchant, Mode.TEST)
    assert "No keys yet" in owner.get("dashboard_keys").text
    assert owner.post("dashboard_revoke_key", key_id=key.public_id).status_code == 404
    key.refresh_from_db()
    assert key.revoked_at is None


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
