"""The pages of settlements: the figures, what was sent on, and settling with our gas or with one's own wallet."""

import csv
import io
from decimal import Decimal

import pytest
from django.utils import timezone

from accounts.audit.actors import Actor
from accounts.models import AuditEntry, Merchant
from accounts.states import Mode
from settlements.dashboard.sums import ForwarderTotals, held_by_token, sums_from
from settlements.models import GasAccount, Hold, Settlement, SettlementSettings
from settlements.states import Sender, SettlementStatus
from settlements.sweeps.plan import FACTORY
from settlements.sweeps.schedule import set_intervals
from tests.dashboard.machines import GAS_KEY, make_gas_transaction, make_settlement
from tests.dashboard.people import Desk
from tests.reports.takings import receive
from wallets.models import DepositBalance
from wallets.states import ClaimKind

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("local_nodes")]


SETTLE = {"purpose": "checkout", "chain": "base", "token": "USDC"}
HASH = "0x" + "5e" * 32


def said(desk: Desk) -> str:
    """What the page after an act says."""
    return str(desk.get("dashboard_settlements").text)


def test_the_figures_keep_all_their_decimals(owner: Desk) -> None:
    receive(owner.merchant, 1_250_004_500)
    page = said(owner)
    assert page.count("</span> 1,250.0045") == 4
    assert page.count("</span> 0.00") == 2


def test_the_figures_add_up_by_line_and_in_all(owner: Desk) -> None:
    transfer = receive(owner.merchant, 25_000_000)
    receive(owner.merchant, 5_500_000, chain="polygon", token="USDT")
    assert transfer.deposit is not None
    Hold.objects.create(merchant=owner.merchant, mode="live", subject_id="chk", nonce=transfer.deposit.nonce)
    sums = owner.get("dashboard_settlements").context["sums"]
    assert [(line.chain, line.token, line.received) for line in sums.lines] == [
        ("base", "USDC", Decimal(25)),
        ("polygon", "USDT", Decimal("5.5")),
    ]
    assert (sums.received, sums.waiting, sums.held) == (Decimal("30.5"), Decimal("30.5"), Decimal(25))
    owner.mode = Mode.TEST
    page = owner.get("dashboard_settlements")
    assert page.context["sums"].lines == []
    assert "Test mode moves no money" in page.text


def test_of_a_held_deposit_only_what_is_left_in_its_forwarder_is_held(owner: Desk) -> None:
    transfer = receive(owner.merchant, 25_000_000)
    assert transfer.deposit is not None
    Hold.objects.create(merchant=owner.merchant, mode="live", subject_id="chk", nonce=transfer.deposit.nonce)
    # A stranger called the factory before the money was held.
    DepositBalance.objects.update(flushed=10_000_000)
    assert held_by_token(owner.merchant.pk) == {("base", "USDC"): 15_000_000}


def test_settlements_are_the_merchants_own_and_are_narrowed(viewer: Desk, stranger: Desk) -> None:
    now = timezone.now()
    good = make_settlement(viewer.merchant, transaction=make_gas_transaction(now=now))
    bad = make_settlement(
        viewer.merchant,
        status=SettlementStatus.FAILED,
        error="The transaction was reverted: nothing moved.",
        purpose=ClaimKind.X402,
    )
    make_settlement(stranger.user.memberships.get().merchant)
    page = viewer.get("dashboard_settlements")
    assert [row.public_id for row in page.context["rows"]] == [bad.public_id, good.public_id]
    assert "nothing moved" in page.text
    assert "0.00021 ETH" in page.text
    for query in ("?purpose=x402", "?status=failed"):
        rows = viewer.get("dashboard_settlements", query).context["rows"]
        assert [row.public_id for row in rows] == [bad.public_id]
    for query, there in (("", [bad.public_id, good.public_id]), ("?status=failed", [bad.public_id])):
        text = viewer.get("dashboard_settlements_csv", query).getvalue().decode("utf-8-sig")
        assert [line["id"] for line in csv.DictReader(io.StringIO(text))] == there


def test_a_batch_that_ended_or_is_for_our_gas_is_not_there(owner: Desk) -> None:
    name = "dashboard_wallet_settlement"
    for made in (
        make_settlement(owner.merchant, sender=Sender.WALLET),
        make_settlement(owner.merchant, status=SettlementStatus.PENDING),
    ):
        assert owner.get(name, batch=made.batch).status_code == 404
        sent = owner.post(name, {"tx_hash": HASH}, batch=made.batch)
        assert sent.status_code == 404


# The box that tells of gas.


@pytest.mark.usefixtures("gas_key")
def test_the_gas_box_warns_of_a_low_balance_and_tells_the_limit(viewer: Desk) -> None:
    now = timezone.now()
    made = make_gas_transaction("50000000000000000", now=now)
    GasAccount.objects.filter(pk=made.account.pk).update(balance_wei=Decimal(10) ** 15, balance_at=now)
    page = viewer.get("dashboard_settlements")
    rows = {row.chain: row for row in page.context["gas"]}
    base = rows["base"]
    assert (base.balance, base.spent, base.limit) == (Decimal("0.001"), Decimal("0.05"), Decimal("0.05"))
    assert base.is_low
    assert base.is_spent
    assert rows["polygon"].balance is None
    assert "Gas runs low on Base" in page.text
    assert GAS_KEY[2:] not in page.text


# What cannot be asked for on the pages of settlements.


@pytest.mark.parametrize("change", [{"purpose": "x"}, {"chain": "bitcoin"}, {"token": "EURC"}])
def test_what_is_no_purpose_network_or_token_is_no_page(owner: Desk, change: dict[str, str]) -> None:
    for name in ("dashboard_settle", "dashboard_settle_by_wallet"):
        assert owner.post(name, SETTLE | change).status_code == 404


@pytest.mark.parametrize("change", [{"minimum": "-1"}, {"minimum": "0.001"}, {"every_hours": "745"}, {"minimum": ""}])
def test_intervals_that_are_none_are_refused(owner: Desk, change: dict[str, str]) -> None:
    wanted = {"minimum": "2.50", "every_hours": "6"} | change
    assert owner.post("dashboard_settlement_intervals", wanted).status_code == 422
    assert not SettlementSettings.objects.exists()


# The three figures as pages show them.


def test_every_line_adds_up_and_so_does_the_total() -> None:
    found = [
        ForwarderTotals(ClaimKind.CHECKOUT, "base", "USDC", 49_000_000, 40_000_000),
        ForwarderTotals(ClaimKind.X402, "polygon", "USDT", 500_000, 0),
    ]
    sums = sums_from(found, held=1_000_000)
    for line in sums.lines:
        assert line.received == line.waiting + line.settled
    assert (sums.received, sums.settled) == (Decimal("49.5"), Decimal(40))
    assert (sums.waiting, sums.held) == (Decimal("9.5"), Decimal(1))
    assert sums.lines[1].purpose_words == "x402"


def test_without_lines_the_total_is_nothing() -> None:
    assert sums_from([]).received == 0


# What a settlement's page shows of its parts.


def test_a_settlement_shows_what_it_was_made_of(owner: Desk) -> None:
    transfer = receive(owner.merchant, 25_000_000)
    made = make_settlement(owner.merchant, deposit=transfer.deposit)
    page = owner.get("dashboard_settlement", settlement_id=made.public_id)
    [item] = page.context["items"]
    assert (item.forwarder, item.moved) == (transfer.recipient, "25.00")
    assert made.tx_hash in page.text


# Settling by a button, with our gas or one's own wallet, and saying when it happens by itself.


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
    assert [call["to"] for call in page.context["calls"]] == [FACTORY]
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
    owner.post("dashboard_settlement_intervals", wanted)
    kept = SettlementSettings.objects.get(merchant=owner.merchant)
    assert (kept.minimum, kept.every_hours) == (Decimal("2.50"), 6)
    entry = AuditEntry.objects.get(action="settlements.intervals_set")
    assert entry.before == {"minimum": "10.00", "every_hours": 24}
    assert "Every 6 hours, from $2.50 on." in said(admin)
    owner.post("dashboard_settlement_intervals", wanted)
    assert AuditEntry.objects.filter(action=entry.action).count() == 1


def test_saying_the_same_again_changes_nothing(owner: Desk) -> None:
    kept = set_intervals(
        owner.merchant, minimum=Decimal(10), every_hours=24, actor=Actor(owner.user), now=timezone.now()
    )
    assert kept._state.adding
    assert not AuditEntry.objects.exists()
