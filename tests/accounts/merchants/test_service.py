"""What merchants decide about themselves."""

from datetime import timedelta

import pytest

from accounts.audit.actors import Actor
from accounts.merchants.service import (
    BUYERS_MAY_RETRY,
    MAILS_RECEIPTS,
    REOPEN_WITHIN,
    ROUND_PRICE_RIVALS,
    close_account,
    refuse_if_closed,
    reopen_account,
    turn,
)
from accounts.merchants.wallet_waits import apply_wallet_change_hours, set_wallet_change_hours
from accounts.models import AuditEntry, Merchant
from accounts.states import Role
from gateway.core.api.errors import ConflictError, InvalidRequestError
from mails.models import OutgoingMail
from tests.accounts.logins import is_logged_in, last_mail
from tests.dashboard.people import log_in, make_member
from tests.factories import NOON, make_merchant, make_user
from tests.wallets.wallet_changes import DUE, ask_for_change

pytestmark = pytest.mark.django_db


def test_letting_buyers_retry_is_kept_and_audited_once_for_each_change() -> None:
    merchant, owner = make_merchant(), make_user()
    for allowed in (False, True, True, False):
        turn(merchant, BUYERS_MAY_RETRY, to=allowed, now=NOON, actor=Actor(owner))
        assert Merchant.objects.get().buyers_may_retry is allowed
        assert merchant.buyers_may_retry is allowed
    entries = AuditEntry.objects.order_by("pk").values_list("actor", "after")
    assert list(entries) == [(owner.pk, {"buyers_may_retry": True}), (owner.pk, {"buyers_may_retry": False})]


def test_mailing_receipts_is_off_and_its_switch_is_audited_once_for_each_change() -> None:
    merchant, owner = make_merchant(), make_user()
    assert merchant.mails_receipts is False
    for allowed in (False, True, True, False):
        turn(merchant, MAILS_RECEIPTS, to=allowed, now=NOON, actor=Actor(owner))
        assert Merchant.objects.get().mails_receipts is allowed
        assert merchant.mails_receipts is allowed
    entries = AuditEntry.objects.order_by("pk").values_list("actor", "after")
    assert list(entries) == [(owner.pk, {"mails_receipts": True}), (owner.pk, {"mails_receipts": False})]


def test_each_switch_is_audited_under_its_own_name_and_turns_no_other() -> None:
    merchant, switches = (make_merchant(), (BUYERS_MAY_RETRY, MAILS_RECEIPTS, ROUND_PRICE_RIVALS))
    before = {switch.field: getattr(merchant, switch.field) for switch in switches}
    for switch in switches:
        turn(merchant, switch, to=not before[switch.field], now=NOON)
        after = Merchant.objects.values(*before).get()
        assert {name for name in before if before[name] != after[name]} == {switch.field}
        turn(merchant, switch, to=before[switch.field], now=NOON)
    actions = AuditEntry.objects.order_by("pk").values_list("action", flat=True)
    assert list(actions) == [switch.action for switch in switches for _ in range(2)]


# How long a changed wallet waits, and when a merchant's shorter wait holds.


def test_a_longer_wait_holds_at_once(teamed_merchant: Merchant) -> None:
    set_wallet_change_hours(teamed_merchant, hours=72, now=NOON)
    assert ask_for_change(teamed_merchant).effective_at == NOON + timedelta(hours=72)


def test_a_shorter_wait_holds_once_the_present_one_is_over(teamed_merchant: Merchant) -> None:
    actor = teamed_merchant.memberships.filter(role=Role.OWNER)[0].user
    set_wallet_change_hours(teamed_merchant, hours=0, now=NOON, actor=Actor(actor, address="203.0.113.9"))
    assert OutgoingMail.objects.count() == 2
    assert apply_wallet_change_hours(now=DUE - timedelta(microseconds=1)) == 0
    assert ask_for_change(teamed_merchant).effective_at == DUE
    assert apply_wallet_change_hours(now=DUE) == 1
    teamed_merchant.refresh_from_db()
    assert teamed_merchant.wallet_change_hours == 0
    entry = AuditEntry.objects.get(action="merchant.wallet_change_hours_set")
    assert (entry.before, entry.address) == ({"hours": 24}, "203.0.113.9")


def test_asking_for_a_shorter_wait_again_does_not_shorten_it_sooner_or_later(teamed_merchant: Merchant) -> None:
    set_wallet_change_hours(teamed_merchant, hours=1, now=NOON)
    later = NOON + timedelta(hours=5)
    changed = set_wallet_change_hours(teamed_merchant, hours=1, now=later)
    assert changed.next_wallet_change_hours_at == DUE
    changed = set_wallet_change_hours(teamed_merchant, hours=0, now=later)
    assert changed.next_wallet_change_hours_at == later + timedelta(hours=24)


def test_saying_the_present_wait_takes_a_shorter_one_back(teamed_merchant: Merchant) -> None:
    set_wallet_change_hours(teamed_merchant, hours=1, now=NOON)
    set_wallet_change_hours(teamed_merchant, hours=24, now=NOON)
    assert apply_wallet_change_hours(now=DUE + timedelta(days=30)) == 0


@pytest.mark.parametrize("hours", [-1, 169])
def test_a_wait_is_a_week_at_most(teamed_merchant: Merchant, hours: int) -> None:
    with pytest.raises(InvalidRequestError):
        set_wallet_change_hours(teamed_merchant, hours=hours, now=NOON)


# Closing a merchant account, and reopening it within 30 days.


def test_closing_is_audited_and_all_owners_are_mailed() -> None:
    merchant = make_merchant()
    owner, other = make_member(merchant), make_member(merchant)
    viewer = make_member(merchant, Role.VIEWER)
    assert close_account(merchant, actor=Actor(owner, address="192.0.2.1"), now=NOON)
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
    first = close_account(merchant, actor=Actor(owner), now=NOON)
    assert (first, close_account(merchant, actor=Actor(owner), now=later)) == (True, False)
    merchant.refresh_from_db()
    assert merchant.closed_at == NOON
    assert AuditEntry.objects.count() == OutgoingMail.objects.count() == 1


@pytest.mark.parametrize("role", [Role.ADMIN, Role.VIEWER, None])
def test_nobody_but_an_owner_closes(role: Role | None) -> None:
    merchant = make_merchant()
    make_member(merchant)
    person = make_member(merchant, role) if role else make_member(make_merchant())
    with pytest.raises(ConflictError):
        close_account(merchant, actor=Actor(person), now=NOON)
    refuse_if_closed(merchant.pk)
    assert not AuditEntry.objects.exists()


def test_every_login_of_the_team_ends_and_no_other() -> None:
    merchant, neighbour = make_merchant(), make_merchant("Neighbour")
    owner, viewer = make_member(merchant), make_member(merchant, Role.VIEWER)
    stranger = make_member(neighbour)
    browsers = [log_in(person) for person in (owner, owner, viewer, stranger)]
    close_account(merchant, actor=Actor(owner), now=NOON)
    assert [is_logged_in(one) for one in browsers] == [False, False, False, True]
    neighbour.refresh_from_db()
    assert neighbour.closed_at is None


def test_a_reopened_account_is_as_it_was_and_its_owners_are_mailed() -> None:
    merchant, operator = make_merchant(), make_user()
    owner = make_member(merchant)
    close_account(merchant, actor=Actor(owner), now=NOON)
    with pytest.raises(ConflictError, match="closed"):
        refuse_if_closed(merchant.pk)
    last_moment = NOON + REOPEN_WITHIN - timedelta(seconds=1)
    assert reopen_account(merchant, actor=Actor(operator), now=last_moment)
    refuse_if_closed(merchant.pk)
    entry = AuditEntry.objects.get(action="merchant.reopened")
    assert (entry.merchant, entry.actor) == (merchant, operator)
    assert "is open again" in last_mail(owner.email).subject
    assert not reopen_account(merchant, actor=Actor(operator), now=last_moment)


def test_after_thirty_days_an_account_stays_closed() -> None:
    merchant, operator = make_merchant(), make_user()
    close_account(merchant, actor=Actor(make_member(merchant)), now=NOON)
    assert not reopen_account(merchant, actor=Actor(operator), now=NOON + REOPEN_WITHIN)
    merchant.refresh_from_db()
    assert merchant.closed_at == NOON
    assert not AuditEntry.objects.filter(action="merchant.reopened").exists()
