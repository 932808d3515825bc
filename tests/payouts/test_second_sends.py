"""What a list or file pays too much: after its payout was cancelled, or once more, and what is only another payment.

Also what an accepted amount is after a second payment, what a reversal undoes and who pays then, and what is done with a payout
that seems paid.
"""

from datetime import timedelta
from typing import Any

import pytest

from accounts.audit.actors import Actor
from accounts.models import Merchant
from checkouts.models import Checkout
from gateway.core.api.errors import ConflictError
from mails.models import OutgoingMail
from payouts.batches.instructions import PayoutLine
from payouts.following.check import check_payouts
from payouts.following.service import COOLING, accept_amount, follow_movements, recheck_payouts, wrong_amounts
from payouts.lifecycle.service import cancel_payout, cancel_sourceless, set_address
from payouts.models import Payout, PayoutRequest, PayoutSurplus
from payouts.outflows.matching import names_of
from payouts.states import AddressBy, BatchStatus, Method, PayoutException, PayoutStatus
from tests.checkouts.inboxes import extra_item
from tests.checkouts.watcher import DOLLAR, shown
from tests.dashboard.people import Desk
from tests.factories import NOON
from tests.payouts.factories import (
    BUYER,
    OTHER_BUYER,
    approved,
    make_approver,
    make_batch,
    make_paid,
    make_payout,
    outflow_for,
    promised,
    refund_of,
    status_of,
)
from tests.payouts.test_following import LATER, Till, actions, refund_of_item, subjects
from wallets.models import Transfer, WatchedMovement
from wallets.states import Direction, TransferState
from wallets.transfers.movements import confirm_movements, orphan_lost_movements, queue_movements

pytestmark = pytest.mark.django_db

SENT_CANCELLED = ["A payout was sent after you cancelled it: 5.000000 USDC"] * 2
"""Who approved and who made the batch are owners, and get a mail each."""


@pytest.fixture(autouse=True)
def _no_bells(settings: Any) -> None:
    """The test follows by hand."""
    settings.MOVEMENT_CONSUMERS = []


@pytest.fixture
def till() -> Till:
    """The wallet of a merchant that has 5 USDC to pay to a buyer, approved."""
    return Till(approved(make_payout()))


def hand_out(payout: Payout, method: Method = Method.LIST, **values: Any) -> None:
    """The payout was in a batch, which is closed since noon."""
    batch = make_batch(payout.merchant)
    for name, value in ({"method": method, "status": BatchStatus.CLOSED, "closed_at": NOON} | values).items():
        setattr(batch, name, value)
    batch.save()
    PayoutRequest.objects.create(payout=payout, batch=batch, raw=b"")


@pytest.mark.parametrize("method", [Method.LIST, Method.SAFE, Method.CALLS])
def test_what_a_list_pays_of_a_cancelled_payout_is_reported_once_it_is_final(till: Till, method: Method) -> None:
    hand_out(till.payout, method)
    cancel_payout(till.payout, now=NOON)
    sent = till.send()
    assert (subjects(), PayoutSurplus.objects.count()) == ([], 0)
    assert (till.confirm().status, till.payout.exception) == (PayoutStatus.CANCELLED, PayoutException.NONE)
    assert (PayoutSurplus.objects.get().movement_id, actions()[-1], subjects()) == (
        sent.pk,
        "payout.sent_cancelled",
        SENT_CANCELLED,
    )
    till.confirm()
    assert subjects() == SENT_CANCELLED
    till.fork()
    assert (PayoutSurplus.objects.count(), actions()[-1]) == (0, "payout.returned")


def test_what_ended_by_itself_or_was_never_handed_out_is_not_reported(till: Till) -> None:
    other = Till(approved(make_payout()))
    hand_out(till.payout, Method.AUTHORIZATION)
    for one in (till, other):
        cancel_payout(one.payout, now=NOON)
        one.send()
        one.confirm()
    assert (PayoutSurplus.objects.count(), subjects()) == (0, [])


def test_a_payout_that_waits_is_paid_before_a_cancelled_one_is_reported(till: Till) -> None:
    hand_out(till.payout)
    cancel_payout(till.payout, now=NOON)
    again = Till(approved(make_payout(till.payout.merchant)), till.wallet)
    again.send()
    assert (again.confirm().status, PayoutSurplus.objects.count()) == (PayoutStatus.PAID, 0)
    again.send()
    again.confirm()
    assert PayoutSurplus.objects.get().payout_id == till.payout.pk


def test_the_list_and_the_page_show_it(owner: Desk) -> None:
    till = Till(approved(make_payout(owner.merchant)))
    hand_out(till.payout)
    cancel_payout(till.payout, now=NOON)
    sent = till.send()
    assert "Sent though cancelled" not in owner.get("dashboard_payouts", "?status=done").text
    till.confirm()
    assert "Sent though cancelled" in owner.get("dashboard_payouts", "?status=done").text
    page = owner.get("dashboard_payout", payout_id=till.payout.public_id).text
    assert "This was sent after it was cancelled." in page
    assert sent.tx_hash in page


def move(till: Till, method: Method = Method.LIST, **values: Any) -> None:
    """The payout was in a list, which was cancelled, and goes to another address since."""
    hand_out(till.payout, method, **values)
    line = PayoutLine(till.payout.public_id, till.payout.address, int(till.payout.units)).raw()
    PayoutRequest.objects.update(raw=line)
    set_address(till.payout, address=OTHER_BUYER, by=AddressBy.PERSON, now=NOON)
    till.now()


SENT_ELSEWHERE = "A payout was sent to an address that it no longer has: 5.000000 USDC"


@pytest.mark.parametrize("method", [Method.LIST, Method.SAFE, Method.CALLS])
def test_what_a_list_pays_to_an_address_from_before_is_reported_once_it_is_final(till: Till, method: Method) -> None:
    move(till, method)
    sent = till.send(recipient=BUYER)
    assert (subjects(), PayoutSurplus.objects.count()) == ([], 0)
    assert (till.confirm().status, till.payout.exception) == (PayoutStatus.REQUESTED, PayoutException.NONE)
    assert (PayoutSurplus.objects.get().movement_id, actions()[-1]) == (sent.pk, "payout.sent_elsewhere")
    till.confirm()
    assert set(subjects()) == {SENT_ELSEWHERE}
    assert BUYER in OutgoingMail.objects.latest("pk").text
    approved(till.payout)
    till.send()
    assert (till.confirm().status, till.payout.exception) == (PayoutStatus.PAID, PayoutException.PAID_TWICE)


def test_what_a_list_pays_to_an_address_from_before_is_a_second_send_of_one_that_is_paid(till: Till) -> None:
    move(till)
    approved(till.payout)
    first = till.send()
    assert till.confirm().exception == PayoutException.NONE
    till.send(recipient=BUYER)
    assert (till.confirm().exception, till.payout.movement_id) == (PayoutException.PAID_TWICE, first.pk)
    assert till.fork(below=1).exception == PayoutException.NONE
    assert not PayoutSurplus.objects.exists()


def test_after_a_cancellation_it_is_told_as_that(till: Till) -> None:
    move(till)
    cancel_payout(till.payout, now=NOON)
    till.send(recipient=BUYER)
    till.confirm()
    assert (actions()[-1], subjects()) == ("payout.sent_cancelled", SENT_CANCELLED)
    assert BUYER in OutgoingMail.objects.latest("pk").text


def test_what_a_list_pays_to_an_address_from_before_never_pays_after_a_reversal(till: Till) -> None:
    move(till)
    approved(till.payout)
    first = till.send()
    till.confirm()
    till.fork()
    till.send(recipient=BUYER)
    assert (till.confirm().exception, till.payout.movement_id) == (PayoutException.REVERSED, first.pk)
    assert PayoutSurplus.objects.count() == 1


@pytest.mark.parametrize(
    ("handed", "told"),
    [
        ({"method": Method.AUTHORIZATION}, {}),
        ({"closed_at": LATER - timedelta(days=5, seconds=1)}, {}),
        ({"created_at": LATER + timedelta(hours=1)}, {}),
        ({}, {"units": 5 * DOLLAR - 1}),
        ({}, {"token": "USDT"}),
        ({}, {"recipient": "0x90F79bf6EB2c4f870365E785982E1f101E93b906"}),
    ],
    ids=["it ended", "long after", "before the list", "another amount", "another token", "another recipient"],
)
def test_what_no_list_asked_for_to_an_address_from_before_is_nothing(
    till: Till, handed: dict[str, Any], told: dict[str, Any]
) -> None:
    move(till, **handed)
    till.send(**({"recipient": BUYER} | told))
    till.confirm()
    assert (PayoutSurplus.objects.count(), subjects()) == (0, [])


def test_a_payout_that_waits_at_an_address_from_before_is_paid_first(till: Till) -> None:
    move(till)
    other = Till(approved(make_payout(till.payout.merchant)), till.wallet)
    other.send()
    assert (other.confirm().status, PayoutSurplus.objects.count()) == (PayoutStatus.PAID, 0)


def test_what_a_list_asked_for_is_no_wrong_amount_of_another_payout(till: Till) -> None:
    move(till)
    other = approved(make_payout(till.payout.merchant, 7 * DOLLAR))
    till.send(recipient=BUYER)
    till.confirm()
    assert PayoutSurplus.objects.get().payout_id == till.payout.pk
    assert wrong_amounts(other) == []


def test_the_list_and_the_page_show_what_went_to_an_address_from_before(owner: Desk) -> None:
    till = Till(approved(make_payout(owner.merchant)))
    move(till)
    sent = till.send(recipient=BUYER)
    till.confirm()
    assert "Sent elsewhere" in owner.get("dashboard_payouts").text
    page = owner.get("dashboard_payout", payout_id=till.payout.public_id).text
    assert "This was sent to an address that it had before." in page
    assert sent.tx_hash in page


def reported(till: Till, after: timedelta, **told: Any) -> bool:
    """Whether the same as the payout, sent so long after it was paid or cancelled, is reported."""
    till.send(block_time=LATER + after, **told)
    till.confirm()
    return PayoutSurplus.objects.filter(payout=till.payout).exists()


def paid(till: Till) -> Till:
    till.send()
    assert till.confirm().status == PayoutStatus.PAID
    return till


@pytest.mark.parametrize("after", [timedelta(days=5, seconds=1), timedelta(days=7), timedelta(days=28)])
def test_a_wage_of_the_same_amount_is_no_second_send_of_the_last_one(till: Till, after: timedelta) -> None:
    hand_out(till.payout)
    assert not reported(paid(till), after)
    assert (till.now().exception, subjects()) == (PayoutException.NONE, [])


@pytest.mark.parametrize("after", [timedelta(seconds=1), timedelta(days=3), timedelta(days=5)])
def test_the_same_soon_after_it_was_paid_is_a_second_send(till: Till, after: timedelta) -> None:
    assert reported(paid(till), after)
    assert till.now().exception == PayoutException.PAID_TWICE


def test_the_time_begins_once_the_last_batch_is_closed(till: Till) -> None:
    hand_out(till.payout)
    hand_out(till.payout, closed_at=LATER + timedelta(days=20))
    assert reported(paid(till), timedelta(days=25))
    PayoutSurplus.objects.all().delete()
    assert not reported(till, timedelta(days=25, seconds=1))


OPEN: dict[str, Any] = {"status": BatchStatus.OPEN, "closed_at": None}


@pytest.mark.parametrize("method", [Method.LIST, Method.SAFE, Method.CALLS])
def test_a_wage_is_no_second_send_of_one_whose_list_is_still_open(till: Till, method: Method) -> None:
    """Another payout of the list was never paid, so that it never closed."""
    hand_out(till.payout, method, **OPEN)
    assert not reported(paid(till), timedelta(days=28))
    assert (till.now().exception, subjects()) == (PayoutException.NONE, [])


def test_while_a_list_is_paid_from_the_same_is_a_second_send(till: Till) -> None:
    other = listed_with(till)
    paid(till)
    other.send(block_time=LATER + timedelta(days=20))
    assert reported(till, timedelta(days=25))
    PayoutSurplus.objects.all().delete()
    assert not reported(till, timedelta(days=25, seconds=1))


def test_while_what_was_signed_has_not_ended_the_same_is_a_second_send(till: Till) -> None:
    hand_out(till.payout, Method.AUTHORIZATION, **OPEN)
    assert reported(paid(till), timedelta(days=60))


@pytest.mark.parametrize("is_first", [False, True])
def test_a_list_that_is_paid_again_much_later_is_reported_in_any_order(till: Till, is_first: bool) -> None:
    other, again = listed_with(till), LATER + timedelta(days=60)
    paid(till)
    if is_first:
        other.send(block_time=again)
    till.send(block_time=again)
    if not is_first:
        other.send(block_time=again)
    assert other.confirm().status == PayoutStatus.PAID
    till.confirm()
    assert [one.payout_id for one in PayoutSurplus.objects.all()] == [till.payout.pk]


def test_what_left_long_before_a_list_was_paid_again_is_a_payment_of_its_own(till: Till) -> None:
    other, again = listed_with(till), LATER + timedelta(days=60)
    paid(till)
    till.send(block_time=again - timedelta(hours=2))
    till.confirm()
    other.send(block_time=again)
    other.confirm()
    till.confirm()
    assert not PayoutSurplus.objects.exists()


def listed_with(till: Till) -> Till:
    """Another payout of the same wallet, in one open list with the till's, and not paid yet."""
    other = Till(approved(make_payout(till.payout.merchant, address=OTHER_BUYER)), till.wallet)
    # Transactions are named by their height.
    other.height = 100
    batch = make_batch(till.payout.merchant)
    for payout in (till.payout, other.payout):
        PayoutRequest.objects.create(payout=payout, batch=batch, raw=b"")
    return other


def test_a_transaction_that_names_the_payout_is_a_second_send_at_any_time(till: Till) -> None:
    assert reported(paid(till), timedelta(days=60), labels=tuple(sorted(names_of(till.payout.public_id))))


@pytest.mark.parametrize("written", ['"{}"', "refund {}.", "{}%20", "\u200b{}\u200b"])
def test_a_text_that_has_more_than_the_payouts_id_names_it_too(till: Till, written: str) -> None:
    assert reported(paid(till), timedelta(days=60), labels=(written.format(till.payout.public_id),))


def test_a_text_with_another_id_names_no_payout(till: Till) -> None:
    assert not reported(paid(till), timedelta(days=60), labels=(f"{till.payout.public_id}x",))


def test_a_wage_is_no_list_of_a_payout_that_was_cancelled_long_ago(till: Till) -> None:
    hand_out(till.payout)
    cancel_payout(till.payout, now=LATER)
    assert not reported(till, timedelta(days=5, seconds=1))
    assert reported(till, timedelta(days=5))


def make_paid_less(till: Till) -> WatchedMovement:
    """Pay the payout in another amount, which a person accepts."""
    less = till.send(units=5 * DOLLAR - 20_000)
    accept_amount(till.payout, less, actor=Actor(make_approver(till.payout.merchant)), now=LATER)
    assert till.confirm().exception == PayoutException.WRONG_AMOUNT
    return less


def test_an_accepted_amount_that_was_reversed_returns_as_it_was(till: Till) -> None:
    less = make_paid_less(till)
    assert till.fork().exception == PayoutException.REVERSED
    till.send(tx_hash=less.tx_hash, units=less.units)
    assert (till.confirm().exception, actions()[-1]) == (PayoutException.WRONG_AMOUNT, "payout.returned")


def test_an_accepted_amount_that_is_paid_twice_was_not_reversed(till: Till) -> None:
    less = make_paid_less(till)
    till.send()
    assert till.confirm().exception == PayoutException.PAID_TWICE
    queue_movements([less.pk], now=LATER)
    follow_movements(now=LATER)
    assert till.now().exception == PayoutException.PAID_TWICE
    assert till.fork(below=1).exception == PayoutException.WRONG_AMOUNT
    assert set(subjects()) == {"A payout was paid twice: 5.000000 USDC"}


def test_what_paid_its_twin_keeps_no_payout_waiting(till: Till) -> None:
    till.send()
    till.confirm()
    twin = approved(make_payout(till.payout.merchant))
    till.send()
    assert (till.fork(below=1).status, status_of(twin)) == (PayoutStatus.PAID, PayoutStatus.SENDING)
    recheck_payouts(now=LATER + COOLING + timedelta(seconds=1))
    assert status_of(twin) == PayoutStatus.APPROVED


def test_what_left_the_wallet_and_is_not_followed_yet_is_neither_cancelled_nor_sent_elsewhere(till: Till) -> None:
    units = int(till.payout.units)
    till.record(Direction.OUT, sender=till.wallet.address, recipient=BUYER, units=units, block_time=LATER)
    with pytest.raises(ConflictError, match="seems to have paid"):
        cancel_payout(till.payout, now=LATER)
    with pytest.raises(ConflictError, match="seems to have paid"):
        set_address(till.payout, address=OTHER_BUYER, by=AddressBy.PERSON, now=LATER)
    confirm_movements("base", 9, now=LATER)
    follow_movements(now=LATER)
    assert (till.now().status, till.payout.address) == (PayoutStatus.PAID, BUYER)


def test_what_was_found_late_is_followed_once_it_refuses_something() -> None:
    """In the history of a wallet that is watched since: nothing queued it."""
    payout, later = approved(make_payout()), NOON + timedelta(hours=3)
    outflow = outflow_for(payout, block_time=LATER)
    assert recheck_payouts(now=later) == 0
    with pytest.raises(ConflictError, match="seems to have paid"):
        cancel_payout(payout, now=later)
    follow_movements(now=later)
    payout.refresh_from_db()
    assert (payout.status, payout.movement) == (PayoutStatus.PAID, outflow)


def test_what_was_found_late_is_followed_also_if_the_money_that_it_returns_is_gone() -> None:
    payout, later = approved(refund_of(make_paid(), 5 * DOLLAR, address=BUYER).payout), NOON + timedelta(hours=3)
    outflow_for(payout, block_time=LATER)
    Transfer.objects.update(state=TransferState.ORPHANED)
    assert cancel_sourceless(now=later) == 0
    follow_movements(now=later)
    assert status_of(payout) == PayoutStatus.PAID


# What a reorg took back after it was final was not sent, and is reserved.


def refunding(merchant: Merchant | None = None) -> tuple[Checkout, Till]:
    """A checkout of 25 USDC, and the wallet that pays 5 of them back."""
    checkout = make_paid(merchant)
    return checkout, Till(approved(refund_of(checkout, 5 * DOLLAR, address=BUYER).payout))


def test_what_a_reorg_took_back_is_not_counted_as_sent_back_until_it_is_final_again() -> None:
    checkout, till = refunding()
    seen = till.send()
    till.confirm()
    assert promised(checkout) == (5 * DOLLAR, 5 * DOLLAR)
    for _ in range(2):
        till.fork()
        assert (promised(checkout), check_payouts()) == ((5 * DOLLAR, 0), 0)
        till.height -= 1
        till.send(tx_hash=seen.tx_hash, block_hash="0xother")
        assert promised(checkout) == (5 * DOLLAR, 0)
        till.confirm()
        assert (promised(checkout), check_payouts()) == ((5 * DOLLAR, 5 * DOLLAR), 0)


def test_of_an_accepted_amount_as_much_is_taken_back_as_was_counted() -> None:
    checkout, till = refunding()
    less = make_paid_less(till)
    part = int(less.units)
    assert (promised(checkout), check_payouts()) == ((part, part), 0)
    till.fork()
    assert (promised(checkout), check_payouts()) == ((part, 0), 0)
    till.send(tx_hash=less.tx_hash, units=less.units)
    till.confirm()
    assert (promised(checkout), check_payouts()) == ((part, part), 0)


def test_what_is_sent_again_in_full_after_an_accepted_amount_was_taken_back_is_counted_in_full() -> None:
    checkout, till = refunding()
    make_paid_less(till)
    till.fork()
    till.send()
    assert till.confirm().exception == PayoutException.NONE
    assert (promised(checkout), check_payouts()) == ((5 * DOLLAR, 5 * DOLLAR), 0)


def test_what_is_sent_again_in_full_takes_nothing_of_what_another_refund_promises_since() -> None:
    checkout, till = refunding()
    part = int(make_paid_less(till).units)
    rest = Till(approved(refund_of(checkout, address=OTHER_BUYER).payout), till.wallet)
    # Transactions are named by their height.
    rest.height = 100
    till.fork()
    till.send()
    till.confirm()
    assert promised(checkout) == (25 * DOLLAR, part)
    rest.send()
    assert rest.confirm().status == PayoutStatus.PAID
    assert promised(checkout) == (25 * DOLLAR, 25 * DOLLAR)


def test_a_reorg_that_changes_what_is_sent_is_counted_within_what_is_reserved() -> None:
    checkout, till = refunding()
    seen = till.send()
    till.confirm()
    # Removed, and mined again with other units, before anybody looked.
    orphan_lost_movements([seen.pk], now=LATER)
    till.send(tx_hash=seen.tx_hash, block_hash="0xother", units=3 * DOLLAR)
    assert (till.now().exception, promised(checkout)) == (PayoutException.REVERSED, (5 * DOLLAR, 0))
    till.confirm()
    assert (till.now().exception, promised(checkout)) == (PayoutException.WRONG_AMOUNT, (5 * DOLLAR, 3 * DOLLAR))


def test_the_pages_and_the_api_say_what_the_network_took_back(owner: Desk) -> None:
    checkout, till = refunding(owner.merchant)

    def pages() -> tuple[str, str]:
        payout = owner.get("dashboard_payout", payout_id=till.payout.public_id).text
        return owner.get("dashboard_checkout", checkout_id=checkout.public_id).text, payout

    till.send()
    till.confirm()
    history, payout = pages()
    assert "5.00 USDC refunded" in history
    assert "reversed by the network" not in history
    assert "The network took it back." not in payout
    assert shown(checkout)["amount_refunded"] == "5.000000"
    till.fork()
    history, payout = pages()
    assert "Refund of 5.00 USDC reversed by the network" in history
    assert "The network took it back." in payout
    assert shown(checkout)["amount_refunded"] == "0.000000"


def test_the_rest_of_money_in_the_inbox_is_sent_back_also_once_a_part_was_taken_back() -> None:
    item = extra_item()
    till = Till(approved(refund_of_item(item, 5 * DOLLAR)))
    till.send()
    till.confirm()
    assert till.fork().exception == PayoutException.REVERSED
    assert int(refund_of_item(item, None).units) == 20 * DOLLAR


def test_what_is_sent_again_after_a_reversal_pays_and_is_too_much_only_if_the_first_returns() -> None:
    checkout, till = refunding()
    first = till.send()
    till.confirm()
    till.fork()
    again = till.send()
    assert (till.now().exception, till.payout.movement_id) == (PayoutException.REVERSED, first.pk)
    assert (till.confirm().exception, till.payout.movement_id) == (PayoutException.NONE, again.pk)
    assert (promised(checkout), check_payouts(), actions()[-1]) == ((5 * DOLLAR, 5 * DOLLAR), 0, "payout.paid")
    assert (subjects(), PayoutSurplus.objects.count()) == (["A refund was reversed: 5.000000 USDC"], 0)
    till.send(tx_hash=first.tx_hash, block_hash="0xother")
    assert till.confirm().exception == PayoutException.PAID_TWICE
    assert PayoutSurplus.objects.get().movement_id == first.pk
    assert (promised(checkout), check_payouts()) == ((5 * DOLLAR, 5 * DOLLAR), 0)


def test_if_a_reorg_removes_the_first_of_two_final_sends_the_second_has_paid() -> None:
    checkout, till = refunding()
    first = till.send()
    till.confirm()
    second = till.send()
    assert till.confirm().exception == PayoutException.PAID_TWICE
    orphan_lost_movements([first.pk], now=LATER)
    follow_movements(now=LATER)
    assert (till.now().exception, till.payout.movement_id) == (PayoutException.NONE, second.pk)
    assert (promised(checkout), PayoutSurplus.objects.count()) == ((5 * DOLLAR, 5 * DOLLAR), 0)
    assert actions()[-2:] == ["payout.reversed", "payout.paid"]


def test_if_a_reorg_removes_both_sends_it_is_reversed_and_told() -> None:
    checkout, till = refunding()
    for _ in range(2):
        till.send()
        till.confirm()
    assert till.fork().exception == PayoutException.REVERSED
    assert (promised(checkout), PayoutSurplus.objects.count()) == ((5 * DOLLAR, 0), 0)
    assert subjects()[-1] == "A refund was reversed: 5.000000 USDC"


def test_owners_get_a_mail_once_of_another_amount_from_the_wallet_that_was_asked(till: Till) -> None:
    batch = make_batch(till.payout.merchant)
    till.send(units=1)
    till.confirm()
    # Nobody asked this wallet for it.
    assert subjects() == []
    batch.wallet = till.wallet
    batch.save()
    Payout.objects.update(batch=batch, status=PayoutStatus.SENDING)
    till.send(units=2)
    assert subjects() == []
    till.confirm()
    queue_movements(list(WatchedMovement.objects.values_list("pk", flat=True)), now=LATER)
    follow_movements(now=LATER)
    told = [subject for subject in subjects() if "0.000002 USDC" in subject]
    assert told == ["A payout was sent with another amount: 0.000002 USDC"] * 2
    assert till.now().status == PayoutStatus.SENDING
