"""`manage.py after_restore`: noted once, merchants told once, everybody with access named."""

import io
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from accounts.models import ApiKey, AuditEntry
from accounts.states import Mode
from gateway.core.restores import Restore
from gateway.core.times import iso
from mails.models import OutgoingMail
from settlements.models import GasAccount
from tests.checkouts.till.terminals import make_terminal
from tests.dashboard.people import make_member
from tests.factories import make_key, make_merchant, make_wallet
from webhooks.models import Event, EventCounter

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def no_chain(settings: Any) -> None:
    """No chain has a node, so that none is read again."""
    settings.CHAIN_SETTINGS = {}


@pytest.fixture
def lost_from() -> datetime:
    return timezone.now() - timedelta(minutes=10)


def after_restore(lost_from: datetime, **options: Any) -> str:
    said = io.StringIO()
    call_command("after_restore", lost_from=lost_from.isoformat(), stdout=said, **options)
    return said.getvalue()


def test_owners_get_one_mail_and_each_mode_one_event_above_the_lost_numbers(lost_from: datetime) -> None:
    merchant = make_merchant()
    owner = make_member(merchant)
    EventCounter.objects.create(merchant=merchant, mode=Mode.LIVE, value=7)
    after_restore(lost_from)
    after_restore(lost_from)
    assert Restore.objects.count() == 1
    [mail] = OutgoingMail.objects.filter(key__startswith="restored:")
    assert mail.recipient == owner.email
    for name in ("API keys", "Team", "Passwords and second factors", "Receiving wallets", "Terminals"):
        assert f"\n- {name}: " in mail.text
    events = Event.objects.filter(type="gateway.restored")
    assert sorted(events.values_list("mode", flat=True)) == ["live", "test"]
    assert events.get(mode=Mode.LIVE).sequence == 1_000_008
    assert iso(lost_from).encode() in bytes(events.get(mode=Mode.LIVE).body)
    assert AuditEntry.objects.filter(action="gateway.restored").count() == 1


def test_whoever_has_access_is_named_and_what_is_younger_is_marked(lost_from: datetime) -> None:
    merchant = make_merchant()
    old, _ = make_key(merchant)
    young, _ = make_key(merchant)
    revoked, _ = make_key(merchant)
    now = timezone.now()
    ApiKey.objects.filter(pk=young.pk).update(created_at=now)
    ApiKey.objects.filter(pk=revoked.pk).update(revoked_at=now)
    make_wallet(merchant, "base")
    before = lost_from - timedelta(days=1)
    paired = make_terminal(merchant, digest=b"d" * 32, paired_at=before, created_at=before)
    unpaired, gone = make_terminal(merchant), make_terminal(merchant, revoked_at=now)
    said = after_restore(lost_from)
    [old_line] = [line for line in said.splitlines() if old.public_id in line]
    [young_line] = [line for line in said.splitlines() if young.public_id in line]
    assert "younger" not in old_line
    assert "younger" in young_line
    assert revoked.public_id not in said
    assert "receiving wallet base 0x" in said
    assert f"  terminal {paired.public_id} Bar, test, paired {before:%Y-%m-%d %H:%M}\n" in said
    assert f"  terminal {unpaired.public_id} Bar, test, no device  (younger than the lost time)\n" in said
    assert gone.public_id not in said


def test_gas_accounts_wait_for_what_nodes_tell(lost_from: datetime) -> None:
    account = GasAccount.objects.create(chain="base", address="0xGas", next_nonce=5)
    after_restore(lost_from)
    account.refresh_from_db()
    assert account.next_nonce is None
    GasAccount.objects.update(next_nonce=6)
    after_restore(lost_from)
    account.refresh_from_db()
    assert account.next_nonce == 6


@pytest.mark.parametrize(
    ("time", "problem"),
    [
        ("yesterday", "is not a time"),
        ("2026-01-01T00:00:00", "needs an offset"),
        ("2999-01-01T00:00:00+00:00", "in the future"),
    ],
)
def test_a_time_that_says_too_little_is_refused(time: str, problem: str) -> None:
    with pytest.raises(CommandError, match=problem):
        call_command("after_restore", lost_from=time)
    assert not Restore.objects.exists()


def test_what_is_no_checkouts_id_is_refused(lost_from: datetime, tmp_path: Path) -> None:
    merchant, file = make_merchant(), tmp_path / "ids"
    file.write_text("chk_live_0\n")
    with pytest.raises(CommandError, match="is no checkout's id"):
        after_restore(lost_from, merchant=merchant.public_id, checkouts=file)
    with pytest.raises(CommandError, match="No merchant"):
        after_restore(lost_from, merchant="mer_0", checkouts=file)
    with pytest.raises(CommandError, match="go together"):
        after_restore(lost_from, checkouts=file)
