"""How long a changed wallet waits, and when a merchant's shorter wait holds."""

from datetime import timedelta

import pytest

from accounts.merchants.wallet_waits import apply_wallet_change_hours, set_wallet_change_hours
from accounts.models import AuditEntry, Merchant
from accounts.states import Role
from gateway.core.api.errors import InvalidRequestError
from mails.models import OutgoingMail
from tests.factories import NOON
from tests.wallets.wallet_changes import DUE, ask_for_change

pytestmark = pytest.mark.django_db


def test_a_longer_wait_holds_at_once(teamed_merchant: Merchant) -> None:
    set_wallet_change_hours(teamed_merchant, hours=72, now=NOON)
    assert ask_for_change(teamed_merchant).effective_at == NOON + timedelta(hours=72)


def test_a_shorter_wait_holds_once_the_present_one_is_over(teamed_merchant: Merchant) -> None:
    actor = teamed_merchant.memberships.filter(role=Role.OWNER)[0].user
    set_wallet_change_hours(teamed_merchant, hours=0, now=NOON, actor=actor, address="203.0.113.9")
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
