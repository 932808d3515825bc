"""What leaves a merchant's wallets pays its payouts: seen, final, reversed, sent twice, or in another amount."""

from datetime import timedelta
from typing import Any

import pytest

from accounts.audit.actors import Actor
from accounts.models import AuditEntry
from accounts.states import Mode, Role
from checkouts.models import InboxItem
from checkouts.states import InboxReason, InboxStatus
from gateway.core.api.errors import ConflictError, RoleError
from gateway.core.money import from_units
from mails.models import OutgoingMail
from payouts.errors import AmountNotRefundableError
from payouts.following.attaching import attach
from payouts.following.service import (
    COOLING,
    EXPECTED_FOR,
    SET_ASIDE,
    accept_amount,
    follow_movements,
    recheck_payouts,
    wrong_amounts,
)
from payouts.lifecycle.service import Terms, cancel_payout, request_refund
from payouts.lifecycle.sources import Source
from payouts.models import Payout, PayoutRequest, PayoutSurplus
from payouts.outflows.matching import names_of
from payouts.states import PayoutException, PayoutStatus
from tests.checkouts.inboxes import extra_item
from tests.checkouts.watcher import DOLLAR
from tests.factories import NOON, body_of, make_live_chain, make_merchant
from tests.payouts.factories import (
    BUYER,
    OTHER_BUYER,
    approved,
    make_approver,
    make_batch,
    make_paid,
    make_payout,
    promised,
    refund_of,
    status_of,
)
from tests.wallets.days import make_watched
from tests.wallets.transfers.told import told_transfer
from tests.webhooks.listed.test_publishing import listed
from wallets.models import Transfer, WatchedMovement, WatchedWallet
from wallets.states import Direction, TransferState
from wallets.transfers.movements import (
    NewMovement,
    answer_for_movements,
    confirm_movements,
    orphan_movements,
    record_movements,
)
from wallets.watched.service import expect_payouts, watch_recipient
from webhooks.models import Event

pytestmark = pytest.mark.django_db

APPROVED, SENDING, PAID = PayoutStatus.APPROVED, PayoutStatus.SENDING, PayoutStatus.PAID
LATER = NOON + timedelta(minutes=5)
LARGE = 10_000 * DOLLAR


@pytest.fixture(autouse=True)
def _no_bells(settings: Any) -> None:
    """The test follows by hand."""
    settings.MOVEMENT_CONSUMERS = []


class Till:
    """A merchant's paying wallet on Base, and what leaves it."""

    def __init__(self, payout: Payout, wallet: WatchedWallet | None = None) -> None:
        self.payout = payout
        self.wallet = wallet or make_watched(payout.merchant)
        expect_payouts([self.wallet.pk], until=LATER)
        self.height = 0

    def send(self, **told: Any) -> WatchedMovement:
        """Send what the payout asks for, unless told otherwise, in a block of its own; not final yet."""
        self.height += 1
        values: dict[str, Any] = {
            "tx_hash": f"0x{self.wallet.pk:x}{self.height:x}",
            "sender": self.wallet.address,
            "recipient": self.payout.address,
            "units": int(self.payout.units),
            "block_height": self.height,
            "block_hash": f"0x{self.height:064x}",
            "block_time": LATER,
        }
        [pk] = self.record(Direction.OUT, **(values | told))
        follow_movements(now=LATER)
        return WatchedMovement.objects.get(pk=pk)

    def record(self, direction: Direction, **told: Any) -> list[int]:
        movement = NewMovement(self.wallet.pk, self.wallet.merchant_id, direction, told_transfer(**told))
        return record_movements([movement], now=LATER)

    def confirm(self) -> Payout:
        """Make all that was sent final."""
        confirm_movements("base", self.height, now=LATER)
        follow_movements(now=LATER)
        return self.now()

    def fork(self, below: int = 0) -> Payout:
        """Let a reorg remove all above a block."""
        orphan_movements("base", below, now=LATER)
        follow_movements(now=LATER)
        return self.now()

    def now(self) -> Payout:
        """The payout as it is now."""
        self.payout.refresh_from_db()
        return self.payout


@pytest.fixture
def till() -> Till:
    """The wallet of a merchant that has 5 USDC to pay to a buyer, approved."""
    return Till(approved(make_payout()))


def actions() -> list[str]:
    return list(AuditEntry.objects.order_by("pk").values_list("action", flat=True))


def subjects() -> list[str]:
    return list(OutgoingMail.objects.order_by("pk").values_list("subject", flat=True))


def test_an_outflow_is_seen_then_final(till: Till) -> None:
    seen = till.send()
    assert (till.now().status, till.payout.movement_id, till.payout.paid_at) == (SENDING, seen.pk, None)
    assert not WatchedMovement.objects.exclude(queued_at=None).exists()
    assert (till.confirm().status, till.payout.movement_id, till.payout.paid_at) == (PAID, seen.pk, LATER)
    assert till.payout.exception == PayoutException.NONE
    assert actions()[-1] == "payout.paid"
    assert subjects() == []


def test_one_that_is_final_at_once_pays_at_once(till: Till) -> None:
    till.record(
        Direction.OUT, sender=till.wallet.address, recipient=BUYER, units=int(till.payout.units), block_time=LATER
    )
    confirm_movements("base", 9, now=LATER)
    assert follow_movements(now=LATER) == 1
    assert till.now().status == PAID


@pytest.mark.parametrize(
    "other",
    [{"recipient": OTHER_BUYER}, {"token": "USDT"}, {"units": 1}, {"block_time": NOON - timedelta(seconds=61)}],
    ids=["recipient", "token", "units", "before it was asked for"],
)
def test_what_does_not_fit_pays_nothing(till: Till, other: dict[str, Any]) -> None:
    till.send(**other)
    assert (till.confirm().status, till.payout.movement_id) == (APPROVED, None)
    assert not PayoutSurplus.objects.exists()


def test_a_payout_that_nobody_approved_is_not_paid_until_somebody_did() -> None:
    till = Till(make_payout())
    till.send()
    assert till.confirm().status == PayoutStatus.REQUESTED
    approved(till.payout)
    assert recheck_payouts(now=LATER) == 1
    follow_movements(now=LATER)
    assert till.now().status == PAID


def test_another_merchants_or_modes_payout_is_not_paid(till: Till) -> None:
    others = approved(make_payout(address=till.payout.address))
    Payout.objects.filter(pk=till.payout.pk).update(mode=Mode.TEST)
    till.send()
    till.confirm()
    assert (status_of(till.payout), status_of(others)) == (APPROVED, APPROVED)


def test_a_refunds_sources_are_returned_and_its_item_of_the_inbox_is_refunded() -> None:
    checkout = make_paid()
    transfer = checkout.payments.get().transfer
    kinds = (InboxReason.EXTRA, InboxReason.REVERSED)
    facts = {"merchant": checkout.merchant, "mode": checkout.mode, "transfer": transfer, "created_at": NOON}
    extra, reversal = (InboxItem.objects.create(reason=kind, **facts) for kind in kinds)
    till = Till(approved(refund_of(checkout, 5 * DOLLAR, address=BUYER).payout))
    till.send()
    assert promised(checkout) == (5 * DOLLAR, 0)
    till.confirm()
    assert promised(checkout) == (5 * DOLLAR, 5 * DOLLAR)
    extra.refresh_from_db()
    reversal.refresh_from_db()
    assert (extra.status, extra.resolved_at, reversal.status) == (InboxStatus.REFUNDED, LATER, InboxStatus.OPEN)


def refund_of_item(item: InboxItem, units: int | None) -> Payout:
    """Ask for money of the inbox back, all that is left of it by default."""
    source = Source(chain="base", tx_hash=item.transfer.tx_hash)
    amount = None if units is None else from_units(units)
    terms = Terms(address=BUYER)
    return request_refund(item.merchant, mode=Mode.LIVE, source=source, amount=amount, terms=terms, now=NOON).payout


def test_an_item_that_a_refund_resolves_rings_its_page_and_is_told_as_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    rung: list[int] = []
    monkeypatch.setattr("checkouts.inbox.service.ring_pages", rung.extend)
    merchant = make_merchant()
    listed(merchant, "https://chosen.example/", "inbox.closed")
    item = extra_item(merchant=merchant)
    till = Till(approved(refund_of_item(item, 5 * DOLLAR)))
    till.send()
    closed = Event.objects.filter(type="inbox.closed")
    assert not closed.exists()
    till.confirm()
    assert rung == [item.checkout_id]
    assert body_of(bytes(closed.get().body))["data"]["status"] == "refunded"


def test_what_is_left_of_money_in_the_inbox_is_sent_back_after_a_part_of_it() -> None:
    item = extra_item()
    till = Till(approved(refund_of_item(item, 5 * DOLLAR)))
    till.send()
    till.confirm()
    rest = refund_of_item(item, None)
    assert int(rest.units) == 20 * DOLLAR
    assert item.checkout is not None
    with pytest.raises(AmountNotRefundableError):
        refund_of_item(item, DOLLAR)
    cancel_payout(rest, now=LATER)
    assert int(refund_of(item.checkout).payout.units) == 45 * DOLLAR


def test_a_reorg_before_it_is_final_sends_it_back(till: Till) -> None:
    seen = till.send()
    assert (till.fork().status, till.payout.movement_id) == (SENDING, None)
    till.height -= 1
    again = till.send(tx_hash=seen.tx_hash, block_hash="0xother")
    assert again.pk == seen.pk
    assert (till.confirm().status, till.payout.movement_id) == (PAID, seen.pk)
    assert subjects() == []


def test_a_reorg_may_give_it_another_transaction(till: Till) -> None:
    till.send()
    till.fork()
    other = till.send()
    assert (till.confirm().status, till.payout.movement_id) == (PAID, other.pk)


@pytest.mark.parametrize("changed", [{"units": 1}, {"recipient": OTHER_BUYER}], ids=["units", "recipient"])
def test_a_reorg_may_change_what_a_transaction_pays(till: Till, changed: dict[str, Any]) -> None:
    seen = till.send()
    # Mined again before anybody looked.
    till.record(
        Direction.OUT,
        **({"recipient": BUYER, "units": seen.units} | changed),
        tx_hash=seen.tx_hash,
        block_hash="0xother",
        block_time=LATER,
    )
    follow_movements(now=LATER)
    assert (till.now().status, till.payout.movement_id) == (SENDING, None)
    assert till.confirm().status == SENDING


def test_a_reorg_after_it_was_final_is_an_alarm_and_pays_nothing_again(till: Till) -> None:
    seen = till.send()
    till.confirm()
    assert (till.fork().status, till.payout.exception) == (PAID, PayoutException.REVERSED)
    assert actions()[-1] == "payout.reversed"
    assert subjects() == ["A payout was reversed: 5.000000 USDC"]
    follow_movements(now=LATER)
    assert len(subjects()) == 1
    till.height -= 1
    till.send(tx_hash=seen.tx_hash, block_hash="0xother")
    assert till.now().exception == PayoutException.REVERSED
    assert (till.confirm().exception, actions()[-1]) == (PayoutException.NONE, "payout.returned")


def test_a_second_send_is_reported_once_it_is_final_and_never_matched(till: Till) -> None:
    till.send()
    till.confirm()
    second = till.send()
    assert (till.now().exception, subjects()) == (PayoutException.NONE, [])
    assert (till.confirm().status, till.payout.exception) == (PAID, PayoutException.PAID_TWICE)
    assert subjects() == ["A payout was paid twice: 5.000000 USDC"]
    assert PayoutSurplus.objects.get().movement_id == second.pk
    # A payout that waited for approval meanwhile is not paid by it.
    late = approved(make_payout(till.payout.merchant))
    recheck_payouts(now=LATER)
    follow_movements(now=LATER)
    assert status_of(late) == APPROVED


def test_what_was_too_much_is_not_after_a_reorg(till: Till) -> None:
    till.send()
    till.confirm()
    till.send()
    till.confirm()
    assert till.fork(below=1).exception == PayoutException.NONE
    assert not PayoutSurplus.objects.exists()


def test_if_a_reorg_removes_the_first_of_two_sends_the_second_pays(till: Till) -> None:
    first = till.send(block_height=90)
    second = till.send()
    till.confirm()
    assert (till.now().exception, till.payout.movement_id) == (PayoutException.PAID_TWICE, first.pk)
    till.fork(below=50)
    assert (till.now().status, till.payout.movement_id, till.payout.exception) == (
        PAID,
        second.pk,
        PayoutException.NONE,
    )


def test_two_payouts_of_one_amount_to_one_address_are_both_paid(till: Till) -> None:
    twin = approved(make_payout(till.payout.merchant))
    for _ in range(3):
        till.send()
    till.confirm()
    assert (status_of(till.payout), status_of(twin)) == (PAID, PAID)
    assert PayoutSurplus.objects.count() == 1


def test_of_twins_the_named_one_is_paid_then_that_of_the_paying_wallets_batch(till: Till) -> None:
    merchant = till.payout.merchant
    named, own, handed = (approved(make_payout(merchant)) for _ in range(3))
    batch = make_batch(merchant)
    Payout.objects.filter(pk__in=[own.pk, handed.pk]).update(batch=batch)
    batch.wallet = till.wallet
    batch.save()
    PayoutRequest.objects.create(payout=handed, batch=batch, raw=b"", tx_hash="0xhanded")
    for told in ({"labels": tuple(sorted(names_of(named.public_id)))}, {"tx_hash": "0xhanded"}, {}, {}):
        till.send(**told)
    found = [Payout.objects.get(pk=one.pk).movement_id or 0 for one in (named, handed, own, till.payout)]
    assert 0 not in found
    assert found == sorted(found)


def test_what_reaches_the_recipient_from_a_strangers_wallet_pays_nothing_unless_it_was_named() -> None:
    payout = approved(make_payout())
    merchant = payout.merchant
    place: dict[str, Any] = {"mode": Mode.LIVE, "chain": "base", "address": BUYER}
    till = Till(payout, watch_recipient(merchant, **place, until=LATER, now=NOON))
    arrives: dict[str, Any] = {"sender": "0xexchange", "recipient": BUYER, "units": 5 * DOLLAR, "block_time": LATER}
    till.record(Direction.IN, **arrives)
    follow_movements(now=LATER)
    assert till.now().status == APPROVED
    PayoutRequest.objects.create(payout=payout, batch=make_batch(merchant), raw=b"", tx_hash="0xnamed")
    till.record(Direction.IN, **arrives, tx_hash="0xnamed")
    follow_movements(now=LATER)
    assert till.now().status == SENDING


def test_what_a_recipient_spends_pays_no_other_payout() -> None:
    payout = approved(make_payout(address=OTHER_BUYER))
    place: dict[str, Any] = {"mode": Mode.LIVE, "chain": "base", "address": BUYER}
    till = Till(payout, watch_recipient(payout.merchant, **place, until=LATER, now=NOON))
    till.send()
    assert (till.confirm().status, recheck_payouts(now=LATER)) == (APPROVED, 0)


def test_money_between_two_watched_wallets_pays_one_payout(till: Till) -> None:
    """Both sides are movements."""
    merchant = till.payout.merchant
    twin = approved(make_payout(merchant))
    batch = make_batch(merchant)
    PayoutRequest.objects.create(payout=twin, batch=batch, raw=b"", tx_hash="0xboth")
    PayoutRequest.objects.create(payout=till.payout, batch=batch, raw=b"", tx_hash="0xboth")
    recipient = Till(twin, make_watched(merchant, address=BUYER))
    till.send(tx_hash="0xboth")
    recipient.record(Direction.IN, tx_hash="0xboth", recipient=BUYER, units=5 * DOLLAR, block_time=LATER)
    follow_movements(now=LATER)
    assert Payout.objects.exclude(movement=None).count() == 1


def test_another_amount_is_told_and_pays_once_an_approver_accepts_it() -> None:
    checkout = make_paid()
    till = Till(approved(refund_of(checkout, 5 * DOLLAR, address=BUYER).payout))
    less = till.send(units=5 * DOLLAR - 20_000)
    assert (till.now().status, wrong_amounts(till.payout)) == (APPROVED, [less])
    merchant = till.payout.merchant
    with pytest.raises(RoleError):
        accept_amount(till.payout, less, actor=Actor(make_approver(merchant, Role.VIEWER)), now=LATER)
    who = Actor(make_approver(merchant))
    assert accept_amount(till.payout, less, actor=who, now=LATER).status == SENDING
    assert wrong_amounts(till.now()) == []
    with pytest.raises(ConflictError):
        accept_amount(till.payout, less, actor=who, now=LATER)
    assert (till.confirm().status, till.payout.exception) == (PAID, PayoutException.WRONG_AMOUNT)
    assert promised(checkout) == (5 * DOLLAR - 20_000, 5 * DOLLAR - 20_000)


def test_only_what_is_offered_can_be_accepted(till: Till) -> None:
    who = Actor(make_approver(till.payout.merchant))
    strangers = Till(approved(make_payout(address=till.payout.address)))
    for movement in (
        strangers.send(units=1),
        till.send(units=1, recipient=OTHER_BUYER),
        till.send(units=1, token="USDT"),
    ):
        with pytest.raises(ConflictError):
            accept_amount(till.payout, movement, actor=who, now=LATER)
    gone = till.send(units=1)
    till.fork()
    with pytest.raises(ConflictError):
        accept_amount(till.payout, gone, actor=who, now=LATER)
    assert till.now().status == APPROVED


def test_an_accepted_amount_that_a_reorg_removes_is_forgotten(till: Till) -> None:
    less = till.send(units=1)
    accept_amount(till.payout, less, actor=Actor(make_approver(till.payout.merchant)), now=LATER)
    assert (till.fork().status, till.payout.movement_id, till.payout.exception) == (SENDING, None, PayoutException.NONE)


def test_a_large_payout_waits_for_a_second_nodes_word() -> None:
    till = Till(approved(make_payout(units=LARGE)))
    seen = till.send()
    seen.refresh_from_db()
    assert seen.witness_asked_at == LATER
    assert till.confirm().status == SENDING
    seen.refresh_from_db()
    answer_for_movements([seen], now=LATER)
    follow_movements(now=LATER)
    assert till.now().status == PAID


def test_an_outflow_in_doubt_pays_nothing_until_a_person_decided_about_its_network(till: Till) -> None:
    till.send()
    make_live_chain("base", halted_reason="a deep fork", doubted_above=0)
    assert till.confirm().status == SENDING
    follow_movements(now=LATER + SET_ASIDE)
    assert till.now().status == SENDING
    make_live_chain("base", halted_reason="", doubted_above=None)
    follow_movements(now=LATER + 2 * SET_ASIDE)
    assert till.now().status == PAID
    assert not WatchedMovement.objects.exclude(queued_at=None).exists()


def test_a_large_surplus_is_believed_as_late(till: Till) -> None:
    Payout.objects.filter(pk=till.payout.pk).update(units=LARGE)
    till.now()
    for _ in range(2):
        till.send()
    till.confirm()
    assert (till.now().status, PayoutSurplus.objects.count()) == (SENDING, 0)
    answer_for_movements(list(WatchedMovement.objects.all()), now=LATER)
    follow_movements(now=LATER)
    assert (till.now().status, till.payout.exception) == (PAID, PayoutException.PAID_TWICE)


def test_what_a_bell_missed_is_found(till: Till) -> None:
    """An older process wrote it, or nobody had followed the wallet."""
    till.send(units=1)
    WatchedMovement.objects.update(units=till.payout.units)
    assert recheck_payouts(now=LATER) == 1
    follow_movements(now=LATER)
    assert till.now().status == SENDING
    confirm_movements("base", 9, now=LATER)
    WatchedMovement.objects.update(queued_at=None)
    assert recheck_payouts(now=LATER) == 1
    follow_movements(now=LATER)
    assert till.now().status == PAID
    assert recheck_payouts(now=LATER) == 0


def test_a_paying_wallet_is_read_at_full_pace_until_its_payouts_are_final(till: Till) -> None:
    till.send()
    hour = timedelta(hours=1)
    recheck_payouts(now=LATER + hour)
    till.wallet.refresh_from_db()
    assert till.wallet.expected_until == LATER + hour + EXPECTED_FOR
    till.confirm()
    recheck_payouts(now=LATER + 2 * hour)
    till.wallet.refresh_from_db()
    assert till.wallet.expected_until == LATER + hour + EXPECTED_FOR


def test_the_owners_hear_once_of_a_refund_on_its_way_whose_payment_was_reversed() -> None:
    checkout = make_paid()
    till = Till(approved(refund_of(checkout, 5 * DOLLAR, address=BUYER).payout))
    till.send()
    Transfer.objects.update(state=TransferState.ORPHANED, orphaned_at=LATER)
    recheck_payouts(now=LATER)
    recheck_payouts(now=LATER)
    assert subjects() == ["A payment that you are refunding was reversed"]


def test_the_owners_hear_once_of_a_paid_refund_whose_payment_was_reversed() -> None:
    till = Till(approved(refund_of(make_paid(), 5 * DOLLAR, address=BUYER).payout))
    till.send()
    till.confirm()
    assert till.now().status == PAID
    recheck_payouts(now=LATER)
    assert subjects() == []
    Transfer.objects.update(state=TransferState.ORPHANED, orphaned_at=LATER)
    for _ in range(2):
        recheck_payouts(now=LATER + timedelta(minutes=1))
    assert subjects() == ["A payment that you refunded was reversed"]
    assert till.now().status == PAID
    # A reorg of long ago was told then.
    OutgoingMail.objects.all().delete()
    recheck_payouts(now=LATER + timedelta(days=8))
    assert subjects() == []


@pytest.mark.parametrize("status", [PayoutStatus.CANCELLED, PayoutStatus.APPROVED])
def test_nobody_is_mailed_about_a_refund_that_was_not_handed_out(status: PayoutStatus) -> None:
    payout = refund_of(make_paid(), 5 * DOLLAR, address=BUYER).payout
    owner = make_approver(payout.merchant)
    payout = cancel_payout(payout, now=NOON) if status == PayoutStatus.CANCELLED else approved(payout, owner)
    assert payout.status == status
    Transfer.objects.update(state=TransferState.ORPHANED, orphaned_at=LATER)
    recheck_payouts(now=LATER)
    assert subjects() == []


def test_without_a_batch_a_payout_whose_outflow_is_gone_waits_until_it_cannot_return(till: Till) -> None:
    till.send()
    till.fork()
    recheck_payouts(now=LATER + COOLING)
    assert till.now().status == SENDING
    with pytest.raises(ConflictError):
        cancel_payout(till.payout, now=LATER)
    recheck_payouts(now=LATER + COOLING + timedelta(seconds=1))
    assert till.now().status == APPROVED


def test_one_that_cannot_be_processed_delays_no_other(till: Till, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> None:
        raise ValueError("planted")

    other = Till(approved(make_payout()))
    with monkeypatch.context() as patch:
        patch.setattr("payouts.following.service.match", fails)
        seen = till.send()
    seen.refresh_from_db()
    assert seen.queued_at == LATER + timedelta(minutes=1)
    other.send()
    assert (till.now().status, other.now().status) == (APPROVED, SENDING)
    follow_movements(now=LATER + timedelta(minutes=1))
    assert till.now().status == SENDING


def test_a_movement_pays_one_payout_whoever_attaches_it(till: Till) -> None:
    twin = approved(make_payout(till.payout.merchant))
    seen = till.send()
    assert not attach(twin.pk, seen.pk)
    assert status_of(twin) == APPROVED
    assert not attach(till.payout.pk, till.send(units=1).pk)


def test_a_cancelled_payout_is_not_paid(till: Till) -> None:
    cancel_payout(till.payout, now=NOON)
    till.send()
    assert till.confirm().status == PayoutStatus.CANCELLED


def test_the_payouts_of_test_mode_tell_nobody(till: Till) -> None:
    Payout.objects.update(mode=Mode.TEST)
    WatchedWallet.objects.update(mode=Mode.TEST)
    till.send()
    WatchedMovement.objects.update(mode=Mode.TEST, state=TransferState.CONFIRMED, queued_at=LATER)
    follow_movements(now=LATER)
    assert till.now().status == PAID
    WatchedMovement.objects.update(state=TransferState.ORPHANED, queued_at=LATER)
    follow_movements(now=LATER)
    assert (till.now().exception, subjects()) == (PayoutException.REVERSED, [])


def test_a_merchant_without_payouts_is_left_alone() -> None:
    wallet = make_watched(make_merchant())
    expect_payouts([wallet.pk], until=LATER)
    record_movements([NewMovement(wallet.pk, wallet.merchant_id, Direction.OUT, told_transfer())], now=NOON)
    assert (follow_movements(now=LATER), follow_movements(now=LATER)) == (1, 0)
