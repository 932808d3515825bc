"""Changes of a password or an address: each is there together with its audit entry and its mail, or not at all."""

from collections.abc import Callable
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.test import Client

from accounts.audit.service import record
from accounts.models import AuditEntry, User
from mails.models import OutgoingMail
from tests.accounts.logins import code_in, last_mail, link_in
from tests.dashboard.people import PASSWORD, log_in
from tests.factories import NOON, make_user

pytestmark = pytest.mark.django_db

GOOD = "a long enough sentence"
NEXT = "next@example.test"
Change = Callable[[Client], Any]


def change_password(person: User, client: Client) -> Change:
    form = {"oldpassword": PASSWORD, "password1": GOOD, "password2": GOOD}
    return lambda client: client.post("/account/password/change/", form)


def set_password(person: User, client: Client) -> Change:
    person.set_unusable_password()
    person.save()
    client.cookies = log_in(person).cookies
    form = {"password1": GOOD, "password2": GOOD}
    return lambda client: client.post("/account/password/set/", form)


def reset_password(person: User, client: Client) -> Change:
    client.post("/account/password/reset/", {"email": person.email})
    address = client.get(link_in(last_mail(person.email)))["Location"]
    form = {"password1": GOOD, "password2": GOOD}
    return lambda client: client.post(address, form)


def change_address(person: User, client: Client) -> Change:
    client.post("/account/email/", {"email": NEXT, "action_add": ""})
    form = {"code": code_in(last_mail(NEXT))}
    return lambda client: client.post("/account/confirm-email/", form)


@pytest.mark.parametrize(
    ("prepare", "action"),
    [
        (change_password, "account.password_changed"),
        (set_password, "account.password_set"),
        (reset_password, "account.password_reset"),
        (change_address, "account.email_changed"),
    ],
)
def test_a_change_without_its_audit_entry_is_no_change(
    prepare: Callable[[User, Client], Change], action: str, person: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = log_in(make_user("nobody@example.test"), raise_request_exception=False)
    if prepare is reset_password:
        client.logout()
    else:
        client = log_in(person, raise_request_exception=False)
    change = prepare(person, client)
    before = _credentials(person)
    mails = OutgoingMail.objects.count()
    monkeypatch.setattr("accounts.login.adapter.record", died)
    assert change(client).status_code == 500
    assert (_credentials(person), OutgoingMail.objects.count()) == (before, mails)
    monkeypatch.undo()
    assert change(client).status_code == 302
    assert _credentials(person) != before
    assert AuditEntry.objects.filter(action=action).count() == 1
    assert OutgoingMail.objects.count() == mails + 1


def _credentials(person: User) -> tuple[str, str, list[tuple[str, bool]]]:
    person.refresh_from_db()
    addresses = EmailAddress.objects.filter(user=person).order_by("email")
    return (person.password, person.email, list(addresses.values_list("email", "primary")))


def died(*arguments: Any, **more: Any) -> None:
    raise RuntimeError("the process died here")


def test_the_audit_log_has_room_for_the_longest_address() -> None:
    address = f"{'a' * 64}@{'b' * 63}.{'c' * 63}.{'d' * 56}.test"
    assert len(address) == 254
    entry = record(None, action="tested", actor=make_user(address), now=NOON)
    entry.refresh_from_db()
    assert entry.actor_label == address
