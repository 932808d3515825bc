"""Settling by a button, with our gas or one's own wallet, and saying when it happens by itself."""

from decimal import Decimal

import pytest
from django.utils import timezone

from accounts.models import AuditEntry, Merchant
from accounts.states import Mode
from settlements.models import Settlement, SettlementSettings
from settlements.states import Sender, SettlementStatus
from settlements.sweeps.calls import FACTORY
from settlements.sweeps.intervals import set_intervals
from tests.dashboard.people import Desk
from tests.reports.takings import receive
from tests.settlements.dashboard.test_pages import HASH, SETTLE, said

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("local_nodes")]


@pytest.mark.usefixtures("gas_key")
def test_settling_writes_settlements_and_says_so(admin: Desk) -> None:
    receive(admin.merchant, 25_000_000)
    admin.post("dashboard_settle", SETTLE)
    made = Settlement.objects.get()
    assert (made.status, made.sender) == (SettlementStatus.PENDING, Sender.GATEWAY)
    assert "25.00 USDC on Base" in said(admin)
    entry = AuditEntry.objects.get(action="settlement.asked")
    assert (entry.actor, entry.object_id) == (admin.user, made.public_id)
    admin.post("dashboard_settle", SETTLE)
    assert "Nothing can be settled now" in said(admin)
    assert Settlement.objects.count() == 1


@pytest.mark.usefixtures("gas_key")
def test_what_a_closed_account_holds_is_settled_by_our_gas(owner: Desk) -> None:
    receive(owner.merchant, 25_000_000)
    Merchant.objects.update(closed_at=timezone.now())
    owner.post("dashboard_settle", SETTLE)
    assert Settlement.objects.get().status == SettlementStatus.PENDING


def test_what_a_closed_account_holds_is_settled_by_ones_own_wallet(owner: Desk) -> None:
    transfer = receive(owner.merchant, 25_000_000)
    Merchant.objects.update(closed_at=timezone.now())
    to_batch = owner.post("dashboard_settle_by_wallet", SETTLE)
    page = owner.client.get(to_batch["Location"])
    assert transfer.deposit is not None
    assert bytes(transfer.deposit.nonce).hex() in page.text


def test_without_a_gas_key_ones_own_wallet_gets_the_same_call(owner: Desk) -> None:
    transfer = receive(owner.merchant, 25_000_000)
    assert "no gas key" in said(owner)
    assert "Settle from your wallet" in said(owner)
    owner.post("dashboard_settle", SETTLE)
    assert "has no key that pays for gas" in said(owner)
    to_batch = owner.post("dashboard_settle_by_wallet", SETTLE)
    page = owner.client.get(to_batch["Location"])
    assert f'data-to="{FACTORY}"' in page.text
    assert transfer.deposit is not None
    assert bytes(transfer.deposit.nonce).hex() in page.text
    again = owner.post("dashboard_settle_by_wallet", SETTLE)
    assert again["Location"] == to_batch["Location"]
    entry = AuditEntry.objects.get(action="settlement.asked")
    assert entry.after is not None
    assert (entry.actor, entry.after["sender"]) == (owner.user, "wallet")
    refused = owner.client.post(to_batch["Location"], {"tx_hash": "0x12"})
    assert refused.status_code == 422
    owner.client.post(to_batch["Location"], {"tx_hash": f" {HASH} "})
    made = Settlement.objects.get()
    assert (made.sender, made.status) == (Sender.WALLET, SettlementStatus.SENT)
    assert made.tx_hash == HASH
    assert "Saved" in said(owner)


def test_test_mode_settles_nothing(owner: Desk) -> None:
    receive(owner.merchant, 25_000_000)
    owner.mode = Mode.TEST
    for name in ("dashboard_settle", "dashboard_settle_by_wallet"):
        owner.post(name, SETTLE)
        assert "there is nothing to settle" in said(owner)
    assert not Settlement.objects.exists()


def test_owners_say_when_it_happens_by_itself(owner: Desk, admin: Desk) -> None:
    wanted = {"minimum": "2.50", "every_hours": "6"}
    assert admin.post("dashboard_settlement_intervals", wanted).status_code == 403
    owner.post("dashboard_settlement_intervals", wanted)
    kept = SettlementSettings.objects.get(merchant=owner.merchant)
    assert (kept.minimum, kept.every_hours) == (Decimal("2.50"), 6)
    entry = AuditEntry.objects.get(action="settlements.intervals_set")
    assert entry.before == {"minimum": "10.00", "every_hours": 24}
    assert "Every 6 hours, from $2.50 on." in said(admin)
    owner.post("dashboard_settlement_intervals", wanted)
    assert AuditEntry.objects.filter(action=entry.action).count() == 1


def test_saying_the_same_again_changes_nothing(owner: Desk) -> None:
    kept = set_intervals(owner.merchant, minimum=Decimal(10), every_hours=24, actor=owner.user, now=timezone.now())
    assert kept._state.adding
    assert not AuditEntry.objects.exists()
