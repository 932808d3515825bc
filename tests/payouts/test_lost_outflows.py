"""After a restore from backup nothing is paid twice: lost outflows stop younger payouts, and unread wallets pay nothing."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from accounts.audit.actors import Actor
from accounts.models import AuditEntry, Merchant, User
from accounts.states import Mode, Role
from gateway.core.api.errors import ConflictError, RoleError
from gateway.core.restores import Restore
from gateway.restores.service import note_restore, payout_lines, rescan_chains
from payouts.approvals.service import approve_payout, recheck_approval, standing_approvals, void_approvals
from payouts.batches.service import Wanted, make_batch
from payouts.following.service import accept_lost_outflow, follow_movements, recheck_payouts
from payouts.models import Payout
from payouts.outflows.lost_outflows import lost_outflows, unread_since
from payouts.selectors import payout_named, payout_objects
from payouts.states import Method, PayoutStatus
from tests.checkouts.watcher import DOLLAR
from tests.dashboard.people import make_desk
from tests.factories import LOCAL_NODES, NOON, WALLET, make_live_chain, make_merchant
from tests.payouts.factories import BUYER, OTHER_BUYER, approved, make_approver, make_payout, outflow_for, status_of
from tests.payouts.test_following import LATER, Till
from tests.wallets.days import make_movement, make_watched
from tests.wallets.transfers.told import told_transfer
from wallets.models import WatchedMovement, WatchedWallet
from wallets.states import Direction, TransferState, WatchPurpose, WatchStatus
from wallets.transfers.movements import NewMovement, record_movements

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("still_noon")]

HOUR = timedelta(hours=1)
LOST_FROM, RESTORED = NOON - 2 * HOUR, NOON - HOUR


@pytest.fixture
def restore(db: None) -> Restore:
    """A restore an hour ago that lost the hour before, and whose chains were read again."""
    return Restore.objects.create(lost_from=LOST_FROM, restored_at=RESTORED, amounts_until=NOON, unread=[])


def sent(payout: Payout, at: datetime = LOST_FROM + HOUR / 2, **values: Any) -> WatchedMovement:
    """What left a wallet of the merchant, as the payout says by default, in the lost time by default."""
    return outflow_for(payout, **({"block_time": at} | values))


def approve(payout: Payout, person: User, *seen: WatchedMovement) -> Payout:
    despite = [one.public_id for one in seen]
    return approve_payout(payout, revision=payout.revision, despite=despite, actor=Actor(person), now=NOON)


@pytest.mark.usefixtures("restore")
def test_an_outflow_of_the_lost_time_stops_a_younger_payout_that_it_fits(merchant: Merchant) -> None:
    person, payout = make_approver(merchant), make_payout(merchant)
    outflow = sent(payout)
    with pytest.raises(ConflictError, match="restore from backup lost"):
        approve(payout, person)
    assert status_of(payout) == PayoutStatus.REQUESTED
    assert approve(payout, person, outflow).status == PayoutStatus.APPROVED
    entry = AuditEntry.objects.get(action="payout.approved")
    assert entry.after
    assert entry.after["despite"] == [outflow.tx_hash]
    # It stays so: nothing pays it by itself.
    follow_movements(now=NOON)
    assert recheck_approval(payout, now=NOON).status == PayoutStatus.APPROVED


def test_without_a_restore_the_older_outflow_is_nothing_to_it(merchant: Merchant) -> None:
    payout = make_payout(merchant)
    sent(payout)
    assert lost_outflows(payout) == []
    assert approved(payout).status == PayoutStatus.APPROVED


OTHERS: dict[str, dict[str, Any]] = {
    "before it": {"at": LOST_FROM - 2 * timedelta(minutes=1)},
    "another amount": {"units": 4 * DOLLAR},
    "another address": {"counterparty": OTHER_BUYER},
    "another token": {"token": "EURC"},
    "reversed": {"state": TransferState.ORPHANED},
    "not older": {"at": NOON},
}


@pytest.mark.usefixtures("restore")
@pytest.mark.parametrize("name", OTHERS)
def test_other_outflows_stop_nothing(name: str, merchant: Merchant) -> None:
    payout = make_payout(merchant)
    sent(payout, **OTHERS[name])
    assert lost_outflows(payout) == []


@pytest.mark.usefixtures("restore")
def test_neither_what_came_in_nor_what_strangers_sent_stops_it(merchant: Merchant) -> None:
    payout = make_payout(merchant)
    outflow: dict[str, Any] = {"counterparty": BUYER, "block_time": LOST_FROM + HOUR / 2}
    make_movement(make_watched(merchant), **outflow)
    make_movement(make_watched(make_merchant()), direction=Direction.OUT, **outflow)
    hidden = make_watched(merchant, purpose=WatchPurpose.PAYOUT)
    make_movement(hidden, direction=Direction.OUT, **outflow)
    assert lost_outflows(payout) == []


@pytest.mark.usefixtures("restore")
def test_what_paid_an_older_payout_stops_no_younger_one(merchant: Merchant) -> None:
    older = approved(make_payout(merchant))
    Payout.objects.update(created_at=LOST_FROM - HOUR)
    outflow = sent(older, queued_at=NOON)
    follow_movements(now=NOON)
    assert status_of(older) == PayoutStatus.PAID
    younger = make_payout(merchant)
    assert lost_outflows(younger) == []
    assert outflow.units == younger.units


@pytest.mark.usefixtures("restore")
def test_a_person_says_that_it_is_that_one_and_it_is_paid(merchant: Merchant) -> None:
    person, payout = make_approver(merchant), make_payout(merchant)
    outflow = sent(payout)
    with pytest.raises(RoleError):
        accept_lost_outflow(payout, outflow, actor=Actor(make_approver(merchant, Role.VIEWER)), now=NOON)
    paid = accept_lost_outflow(payout, outflow, actor=Actor(person), now=NOON)
    assert status_of(paid) == PayoutStatus.PAID
    assert AuditEntry.objects.filter(action="payout.lost_outflow_accepted", actor=person).count() == 1
    # An outflow pays one payout, whoever asks.
    other = make_payout(merchant)
    with pytest.raises(ConflictError):
        accept_lost_outflow(other, outflow, actor=Actor(person), now=NOON)
    assert status_of(other) == PayoutStatus.REQUESTED


@pytest.mark.usefixtures("restore")
def test_one_that_is_not_final_is_sending_and_approved_again_if_a_reorg_takes_it(merchant: Merchant) -> None:
    person, payout = make_approver(merchant), make_payout(merchant)
    outflow = sent(payout, state=TransferState.DETECTED, confirmed_at=None)
    accept_lost_outflow(payout, outflow, actor=Actor(person), now=NOON)
    assert status_of(payout) == PayoutStatus.SENDING
    WatchedMovement.objects.update(state=TransferState.ORPHANED, orphaned_at=NOON, queued_at=NOON)
    follow_movements(now=NOON)
    payout.refresh_from_db()
    assert payout.movement is None
    recheck_payouts(now=NOON + timedelta(hours=25))
    assert status_of(payout) == PayoutStatus.APPROVED
    # Nobody approved paying it.
    assert recheck_approval(payout, now=NOON).status == PayoutStatus.REQUESTED


@pytest.mark.usefixtures("restore")
def test_an_outflow_that_is_found_after_the_approval_voids_it(merchant: Merchant) -> None:
    person, payout = make_approver(merchant), make_payout(merchant)
    assert approve(payout, person).status == PayoutStatus.APPROVED
    outflow = sent(payout)
    assert recheck_approval(payout, now=NOON).status == PayoutStatus.REQUESTED
    payout.refresh_from_db()
    assert approve(payout, person, outflow).status == PayoutStatus.APPROVED
    assert recheck_approval(payout, now=NOON).status == PayoutStatus.APPROVED


@pytest.mark.usefixtures("restore")
def test_an_approval_that_a_lost_outflow_voids_is_counted_no_more(merchant: Merchant) -> None:
    person, payout = make_approver(merchant), make_payout(merchant)
    approve(payout, person)

    def have() -> int:
        shown = payout_named(merchant.pk, Mode.LIVE, payout.public_id)
        [told] = payout_objects([shown], shows_claims=False)
        return int(told["approvals"]["have"])

    assert have() == 1
    outflow = sent(payout)
    assert have() == 0
    approve(Payout.objects.get(pk=payout.pk), person, outflow)
    assert have() == 1


@pytest.mark.usefixtures("restore")
def test_without_the_look_at_lost_outflows_one_debt_would_be_paid_twice(
    merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control of the first test: nobody is stopped, and the older outflow is passed over as too old."""
    monkeypatch.setattr("payouts.approvals.service.lost_outflows", lambda _: [])
    person, payout = make_approver(merchant), make_payout(merchant)
    first = sent(payout, queued_at=NOON)
    assert approve(payout, person).status == PayoutStatus.APPROVED
    second = sent(payout, NOON + timedelta(minutes=1), queued_at=NOON)
    follow_movements(now=NOON)
    payout.refresh_from_db()
    assert (payout.status, payout.movement) == (PayoutStatus.PAID, second)
    assert (first.units, first.counterparty) == (second.units, second.counterparty)


# Which wallets are read.


@pytest.fixture
def chain(db: None, settings: Any) -> None:
    """Base, read a minute ago."""
    settings.CHAIN_SETTINGS = LOCAL_NODES
    make_live_chain("base", head_at=NOON, head_time=NOON, read_through_at=NOON - timedelta(minutes=1))


@pytest.fixture
def wallet(merchant: Merchant) -> WatchedWallet:
    """A wallet that was watched long before the loss."""
    return make_watched(merchant, status=WatchStatus.ACTIVE, created_at=LOST_FROM - HOUR)


@pytest.mark.usefixtures("chain")
def test_a_wallet_that_was_watched_before_is_read_once_its_chain_is(restore: Restore, wallet: WatchedWallet) -> None:
    assert unread_since(wallet, now=NOON) is None
    make_live_chain("base", head_at=NOON, head_time=NOON, read_through_at=RESTORED - timedelta(minutes=1))
    assert unread_since(wallet, now=NOON) == LOST_FROM
    make_live_chain("base", head_at=NOON, head_time=NOON, read_through_at=NOON)
    Restore.objects.update(unread=["polygon", "base"])
    assert unread_since(wallet, now=NOON) == LOST_FROM
    assert unread_since(wallet, now=NOON + timedelta(days=31)) is None
    wallet.mode = Mode.TEST
    assert unread_since(wallet, now=NOON) is None


@pytest.mark.usefixtures("chain", "restore")
def test_a_younger_wallet_is_read_once_its_history_reaches_before_the_loss(
    wallet: WatchedWallet, settings: Any
) -> None:
    settings.WALLET_HISTORY_DAYS = 30
    wallet.created_at, wallet.status = NOON, WatchStatus.IMPORTING
    assert unread_since(wallet, now=NOON) == LOST_FROM
    wallet.status, wallet.history_from, wallet.history_height, wallet.history_until = WatchStatus.ACTIVE, 1, 9, 9
    assert unread_since(wallet, now=NOON) is None
    # Without a history nobody knows.
    wallet.history_from = wallet.history_height = wallet.history_until = None
    assert unread_since(wallet, now=NOON) == LOST_FROM


def batch_of(payout: Payout, wallet: WatchedWallet) -> Any:
    wanted = Wanted([payout.public_id], wallet.address, Method.LIST)
    return make_batch(payout.merchant, Mode.LIVE, wanted, actor=Actor(make_approver(payout.merchant)), now=NOON)


@pytest.mark.usefixtures("chain")
def test_no_batch_is_made_of_a_wallet_that_was_not_read_again(restore: Restore, wallet: WatchedWallet) -> None:
    payout = approved(make_payout(wallet.merchant))
    Restore.objects.update(unread=["base"])
    with pytest.raises(ConflictError, match="lost what left this wallet since 2026-11-20 10:00"):
        batch_of(payout, wallet)
    assert status_of(payout) == PayoutStatus.APPROVED
    Restore.objects.update(unread=[])
    batch_of(payout, wallet)
    assert status_of(payout) == PayoutStatus.SENDING


@pytest.mark.usefixtures("chain", "restore")
def test_without_the_look_at_unread_wallets_what_was_paid_in_the_lost_time_would_be_handed_out_again(
    wallet: WatchedWallet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control of the test above: the outflow that paid it is found only after it was handed out."""
    Restore.objects.update(unread=["base"])
    monkeypatch.setattr("payouts.batches.service.unread_since", lambda *_, **__: None)
    payout = approved(make_payout(wallet.merchant))
    batch_of(payout, wallet)
    assert status_of(payout) == PayoutStatus.SENDING
    Restore.objects.update(unread=[])
    assert lost_outflows(payout) == []
    outflow = make_movement(
        wallet,
        int(payout.units),
        direction=Direction.OUT,
        counterparty=payout.address,
        token=payout.token,
        block_time=LOST_FROM + HOUR / 2,
    )
    assert lost_outflows(payout) == [outflow]


@pytest.mark.usefixtures("chain", "restore")
def test_a_wallet_that_is_new_is_watched_though_no_batch_is_made(merchant: Merchant, settings: Any) -> None:
    settings.WALLET_HISTORY_DAYS = 30
    payout = approved(make_payout(merchant))
    wanted = Wanted([payout.public_id], WALLET, Method.LIST)
    with pytest.raises(ConflictError, match="lost what left this wallet"):
        make_batch(merchant, Mode.LIVE, wanted, actor=Actor(make_approver(merchant)), now=NOON)
    assert WatchedWallet.objects.get(merchant=merchant).address == WALLET
    WatchedWallet.objects.update(status=WatchStatus.ACTIVE, history_from=1, history_height=9, history_until=9)
    make_batch(merchant, Mode.LIVE, wanted, actor=Actor(make_approver(merchant)), now=NOON)
    assert status_of(payout) == PayoutStatus.SENDING


@pytest.mark.usefixtures("chain")
def test_an_open_batch_is_handed_out_no_more_until_its_wallet_was_read(restore: Restore, wallet: WatchedWallet) -> None:
    desk = make_desk(wallet.merchant)
    batch = batch_of(approved(make_payout(wallet.merchant)), wallet)
    Restore.objects.update(unread=["base"])
    page = desk.get("dashboard_payout_batch", batch_id=batch.public_id).text
    assert "Do not pay this yet" in page
    assert "Pay it from your wallet" not in page
    for name in ("csv", "safe", "codes"):
        assert desk.get(f"dashboard_payout_batch_{name}", batch_id=batch.public_id).status_code == 404
    Restore.objects.update(unread=[])
    assert desk.get("dashboard_payout_batch_csv", batch_id=batch.public_id).status_code == 200
    assert "Pay it from your wallet" in desk.get("dashboard_payout_batch", batch_id=batch.public_id).text


@pytest.mark.usefixtures("chain")
def test_no_batch_is_made_of_what_an_outflow_fits_that_is_not_followed_yet(wallet: WatchedWallet) -> None:
    payout = approved(make_payout(wallet.merchant))
    outflow = sent(payout, NOON + timedelta(minutes=1), queued_at=NOON)
    with pytest.raises(ConflictError, match="seems to have paid"):
        batch_of(payout, wallet)
    follow_movements(now=NOON)
    payout.refresh_from_db()
    assert (payout.status, payout.movement) == (PayoutStatus.PAID, outflow)


@pytest.mark.usefixtures("chain")
def test_a_chain_is_unread_until_it_was_read_without_an_error(settings: Any) -> None:
    note_restore(LOST_FROM, now=NOON)
    names = set(Restore.objects.get().unread or ())
    assert "base" in names
    # No node answers: Base stays unread; chains that were never read have nothing to read again.
    failures = rescan_chains(LOST_FROM, now=NOON, say=lambda words: None)
    assert any("Base" in words for words in failures)
    assert Restore.objects.get().unread == ["base"]


# The closing table.


def test_what_was_in_flight_is_listed_with_what_is_known_of_it(merchant: Merchant, restore: Restore) -> None:
    paid = approved(make_payout(merchant, 1 * DOLLAR))
    Payout.objects.update(created_at=LOST_FROM - HOUR)
    outflow = sent(paid, queued_at=NOON)
    follow_movements(now=NOON)
    waits = make_payout(merchant, 2 * DOLLAR)
    asked_again = make_payout(merchant, 3 * DOLLAR)
    doubt = sent(asked_again)
    lines = list(payout_lines(LOST_FROM))
    assert lines[0].startswith(merchant.name)
    told = {
        payout.public_id: next(line for line in lines if payout.public_id in line)
        for payout in (paid, waits, asked_again)
    }
    assert f"paid, found as {outflow.tx_hash}" in told[paid.public_id]
    assert "younger" not in told[paid.public_id]
    assert "2.000000 USDC base" in told[waits.public_id]
    assert "no payment found, waits for approval  (younger" in told[waits.public_id]
    assert f"a person decides whether {doubt.tx_hash} paid it" in told[asked_again.public_id]


@pytest.mark.usefixtures("chain", "restore")
def test_what_was_handed_out_is_listed_so_until_its_payment_is_found_and_final(wallet: WatchedWallet) -> None:
    payout = approved(make_payout(wallet.merchant))
    batch_of(payout, wallet)

    def told() -> str:
        [line] = [line for line in payout_lines(LOST_FROM) if payout.public_id in line]
        return line.split(": ", 1)[1]

    assert told().startswith("was handed out, no payment found")
    outflow = make_movement(
        wallet,
        int(payout.units),
        direction=Direction.OUT,
        counterparty=payout.address,
        token=payout.token,
        state=TransferState.DETECTED,
        confirmed_at=None,
        queued_at=NOON,
    )
    follow_movements(now=NOON)
    assert told().startswith(f"on its way, found as {outflow.tx_hash}")
    WatchedMovement.objects.update(state=TransferState.CONFIRMED, confirmed_at=NOON, queued_at=NOON)
    follow_movements(now=NOON)
    assert told().startswith(f"paid, found as {outflow.tx_hash}")


def test_after_a_restore_approvals_are_void_and_what_was_sent_in_the_lost_time_pays_all_the_same() -> None:
    till = Till(approved(make_payout()))
    other = approved(make_payout(address=OTHER_BUYER))
    never = make_payout(address=OTHER_BUYER)
    assert void_approvals(now=LATER) == 3
    assert (status_of(other), standing_approvals(other).count()) == (PayoutStatus.REQUESTED, 1)
    other.refresh_from_db()
    assert (other.revision, standing_approvals(other).count()) == (2, 0)
    till.send()
    assert till.confirm().status == PayoutStatus.PAID
    Till(never).send()
    assert status_of(never) == PayoutStatus.REQUESTED


def test_a_rescan_after_a_restore_finds_what_nobody_followed() -> None:
    payout = approved(make_payout())
    wallet = make_watched(payout.merchant)
    void_approvals(now=LATER)
    hours = timedelta(hours=5)
    told = told_transfer(recipient=BUYER, units=int(payout.units), block_time=LATER)
    record_movements([NewMovement(wallet.pk, wallet.merchant_id, Direction.OUT, told)], now=LATER + hours)
    WatchedMovement.objects.update(queued_at=None)
    assert recheck_payouts(now=LATER + hours) == 1
    follow_movements(now=LATER + hours)
    assert status_of(payout) == PayoutStatus.SENDING
