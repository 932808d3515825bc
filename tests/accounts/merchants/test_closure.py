"""Closing a merchant account, and reopening it within 30 days."""

from datetime import timedelta

import pytest

from accounts.merchants.closure import REOPEN_WITHIN, close_account, refuse_if_closed, reopen_account
from accounts.models import AuditEntry
from accounts.states import Role
from gateway.core.api.errors import ConflictError
from mails.models import OutgoingMail
from tests.accounts.logins import is_logged_in, last_mail
from tests.dashboard.people import log_in, make_member
from tests.factories import NOON, make_merchant, make_user

pytestmark = pytest.mark.django_db


def test_closing_is_audited_and_all_owners_are_mailed() -> None:
    merchant = make_merchant()
    owner, other = make_member(merchant), make_member(merchant)
    viewer = make_member(merchant, Role.VIEWER)
    assert close_account(merchant, by=owner, now=NOON, address="192.0.2.1")
    merchant.refresh_from_db()
    assert merchant.closed_at == NOON
    entry = AuditEntry.objects.get(action="merchant.closed")
    assert (entry.merchant, entry.actor) == (merchant, owner)
    assert (entry.address, entry.created_at) == ("192.0.2.1", NOON)
    told = OutgoingMail.objects.values_list("recipient", flat=True)
    assert set(told) == {owner.email, other.email}
    assert viewer.email not in told
    assert "by 20 December 2026" in last_mail(other.email).text


def test_closing_twice_is_one_act() -> None:
    merchant = make_merchant()
    owner = make_member(merchant)
    later = NOON + timedelta(days=1)
    first = close_account(merchant, by=owner, now=NOON)
    assert (first, close_account(merchant, by=owner, now=later)) == (True, False)
    merchant.refresh_from_db()
    assert merchant.closed_at == NOON
    assert AuditEntry.objects.count() == OutgoingMail.objects.count() == 1


@pytest.mark.parametrize("role", [Role.ADMIN, Role.VIEWER, None])
def test_nobody_but_an_owner_closes(role: Role | None) -> None:
    merchant = make_merchant()
    make_member(merchant)
    person = make_member(merchant, role) if role else make_member(make_merchant())
    with pytest.raises(ConflictError):
        close_account(merchant, by=person, now=NOON)
    refuse_if_closed(merchant.pk)
    assert not AuditEntry.objects.exists()


def test_every_login_of_the_team_ends_and_no_other() -> None:
    merchant, neighbour = make_merchant(), make_merchant("Neighbour")
    owner, viewer = make_member(merchant), make_member(merchant, Role.VIEWER)
    stranger = make_member(neighbour)
    browsers = [log_in(person) for person in (owner, owner, viewer, stranger)]
    close_account(merchant, by=owner, now=NOON)
    assert [is_logged_in(one) for one in browsers] == [False, False, False, True]
    neighbour.refresh_from_db()
    assert neighbour.closed_at is None


def test_a_reopened_account_is_as_it_was_and_its_owners_are_mailed() -> None:
    merchant, operator = make_merchant(), make_user()
    owner = make_member(merchant)
    close_account(merchant, by=owner, now=NOON)
    with pytest.raises(ConflictError, match="closed"):
        refuse_if_closed(merchant.pk)
    last_moment = NOON + REOPEN_WITHIN - timedelta(seconds=1)
    assert reopen_account(merchant, by=operator, now=last_moment)
    refuse_if_closed(merchant.pk)
    entry = AuditEntry.objects.get(action="merchant.reopened")
    assert (entry.merchant, entry.actor) == (merchant, operator)
    assert "is open again" in last_mail(owner.email).subject
    assert not reopen_account(merchant, by=operator, now=last_moment)


def test_after_thirty_days_an_account_stays_closed() -> None:
    merchant, operator = make_merchant(), make_user()
    close_account(merchant, by=make_member(merchant), now=NOON)
    assert not reopen_account(merchant, by=operator, now=NOON + REOPEN_WITHIN)
    merchant.refresh_from_db()
    assert merchant.closed_at == NOON
    assert not AuditEntry.objects.filter(action="merchant.reopened").exists()
