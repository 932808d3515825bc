"""The queue of transfers: each is credited or in the inbox, in order, and none holds up the others."""

import sys
import time
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from checkouts.attribution import candidates, queue
from checkouts.attribution.exact_rules import MOST_CANDIDATES
from checkouts.models import Checkout, InboxItem, Payment
from checkouts.states import CheckoutStatus, InboxReason, InboxStatus
from tests.checkouts.arrivals import Till, exact, inbox_item, payer_of
from tests.checkouts.crowds import hold, make_crowd
from tests.checkouts.factories import EXACT_OFFERS
from tests.checkouts.schema import alter
from tests.checkouts.watcher import (
    DOLLAR,
    SOON,
    Watcher,
    assert_set_aside,
    attribute,
    credited,
    events_of,
    fresh,
    inbox_of,
    pay,
    received,
)
from tests.factories import NOON, make_checkout, make_merchant, make_transfer, make_wallet
from wallets.models import Transfer, TransferClaim
from wallets.states import ClaimKind

pytestmark = pytest.mark.django_db


def test_the_whole_queue_is_dealt_with_whatever_the_size_of_a_batch():
    checkouts = [make_checkout() for _ in range(5)]
    watcher = Watcher()
    for checkout in checkouts:
        watcher.sees(checkout)
        watcher.sees(checkout)
    assert attribute(batch=3) == 10
    assert [credited(checkout) for checkout in checkouts] == [2] * 5
    assert attribute(batch=3) == 0


def test_the_oldest_transfers_go_first():
    checkout = make_checkout()
    watcher = Watcher()
    first, second = watcher.sees(checkout), watcher.sees(checkout)
    watcher.confirms()
    attribute(batch=1)
    assert Payment.objects.get().transfer == first
    assert InboxItem.objects.get().transfer == second
    assert inbox_of(checkout) == [InboxReason.EXTRA]


def test_an_empty_queue_costs_one_question():
    make_checkout()
    with CaptureQueriesContext(connection) as queries:
        assert attribute() == 0
    asked = [query for query in queries if "SAVEPOINT" not in query["sql"]]
    assert len(asked) == 1


def test_the_number_of_statements_does_not_grow_with_the_batch():
    def statements(transfers: int) -> int:
        merchant = make_merchant()
        watcher = Watcher(height=1_000 * transfers)
        for _ in range(transfers):
            watcher.sees(make_checkout(merchant))
        watcher.confirms()
        with CaptureQueriesContext(connection) as queries:
            assert attribute() == transfers
        return len(queries)

    assert statements(2) == statements(20)


@pytest.mark.parametrize(
    ("seconds", "status", "reasons"),
    [(60, CheckoutStatus.COMPLETED, []), (61, CheckoutStatus.PENDING, [InboxReason.LATE])],
)
def test_the_block_time_decides_whether_money_came_in_time(seconds, status, reasons):
    checkout = make_checkout()
    watcher = Watcher()
    watcher.sees(checkout, at=checkout.expires_at + timedelta(seconds=seconds))
    watcher.confirms()
    attribute(now=checkout.expires_at + timedelta(hours=1))
    assert fresh(checkout).status == status
    assert inbox_of(checkout) == reasons


def test_money_in_time_counts_whenever_we_come_to_see_it():
    checkout = make_checkout()
    watcher = Watcher()
    watcher.sees(checkout)
    watcher.confirms()
    attribute(now=checkout.expires_at + timedelta(hours=23))
    assert fresh(checkout).status == CheckoutStatus.COMPLETED


def test_money_after_completion_is_extra_and_changes_nothing():
    checkout = make_checkout()
    pay(checkout)
    before = fresh(checkout)
    extra = pay(checkout)
    assert inbox_of(checkout) == [InboxReason.EXTRA]
    assert not TransferClaim.objects.filter(transfer=extra).exists()
    assert fresh(checkout).amount_received == before.amount_received
    assert events_of(checkout) == ["completed"]


@pytest.mark.parametrize(("after_expiry", "reason"), [(-60, InboxReason.LATE_OUTAGE), (61, InboxReason.LATE)])
def test_money_after_expiry_waits_in_the_inbox(after_expiry, reason):
    checkout = make_checkout(status=CheckoutStatus.EXPIRED)
    watcher = Watcher()
    watcher.sees(checkout, at=checkout.expires_at + timedelta(seconds=after_expiry))
    watcher.confirms()
    attribute()
    assert inbox_of(checkout) == [reason]
    assert credited(checkout) == 0
    assert fresh(checkout).status == CheckoutStatus.EXPIRED


def test_money_on_a_chain_that_was_not_offered_is_on_the_wrong_network():
    checkout = make_checkout()
    ethereum = Watcher("ethereum")
    ethereum.sees(checkout)
    ethereum.confirms()
    attribute()
    assert inbox_of(checkout) == [InboxReason.WRONG_NETWORK]
    assert fresh(checkout).status == CheckoutStatus.PENDING


@pytest.mark.parametrize(("chain", "token"), [("base", "USDbC"), ("polygon", "USDC.e"), ("base", "FAKE")])
def test_a_look_alike_is_the_wrong_token_and_never_counts(chain, token):
    checkout = make_checkout()
    watcher = Watcher(chain)
    watcher.sees(checkout, token=token)
    watcher.confirms()
    attribute()
    assert inbox_of(checkout) == [InboxReason.WRONG_TOKEN]
    assert received(checkout) == 0


def test_dust_is_recorded_for_the_books_and_not_for_anybodys_attention():
    checkout = make_checkout()
    pay(checkout, 9_999)
    item = InboxItem.objects.get()
    assert (item.reason, item.status) == (InboxReason.DUST, InboxStatus.DISMISSED)
    assert fresh(checkout).status == CheckoutStatus.PENDING
    assert Transfer.objects.get().decided_at is not None


def test_a_cent_is_no_dust():
    checkout = make_checkout()
    pay(checkout, 10_000)
    assert received(checkout) == 10_000
    assert not InboxItem.objects.exists()


def test_an_address_of_no_checkout_sends_its_money_to_the_inbox():
    checkout = make_checkout()
    transfer = make_transfer(checkout)
    Checkout.objects.filter(pk=checkout.pk).update(deposit_nonce=bytes(32))
    attribute()
    item = InboxItem.objects.get()
    assert (item.reason, item.checkout) == (InboxReason.UNMATCHED, None)
    assert item.merchant_id == transfer.merchant_id


@pytest.mark.parametrize("count", [1, 40])
def test_amounts_near_the_end_of_256_bits_hold_nobody_up(count):
    flooded, bystander = make_checkout(), make_checkout()
    watcher = Watcher()
    for _ in range(count):
        watcher.sees(flooded, 2**255)
    watcher.sees(bystander)
    watcher.confirms()
    assert attribute() == count + 1
    assert received(flooded) == count * 2**255
    assert fresh(flooded).status == CheckoutStatus.COMPLETED
    assert fresh(bystander).status == CheckoutStatus.COMPLETED


def test_a_transfer_seen_twice_is_one_transfer():
    checkout = make_checkout()
    watcher = Watcher()
    transfer = watcher.transfer_to(checkout, 10 * DOLLAR)
    assert len(watcher.records([transfer])) == 1
    assert watcher.records([transfer]) == []
    attribute()
    assert watcher.records([transfer]) == []
    assert attribute() == 0
    assert received(checkout) == 10 * DOLLAR


def test_a_transfer_that_vanished_before_it_was_decided_is_decided_when_it_returns():
    checkout = make_checkout()
    watcher = Watcher()
    transfer = watcher.sees(checkout)
    watcher.loses(transfer)
    assert attribute() == 1
    transfer.refresh_from_db()
    assert transfer.decided_at is None
    assert transfer.queued_at is None
    assert credited(checkout) == 0
    watcher.finds_again(transfer)
    watcher.confirms()
    attribute()
    assert credited(checkout) == 1
    assert fresh(checkout).status == CheckoutStatus.COMPLETED


def test_what_is_in_the_inbox_is_never_matched_again_by_itself():
    checkout = make_checkout()
    watcher = Watcher("ethereum")
    transfer = watcher.sees(checkout)
    attribute()
    watcher.loses(transfer)
    attribute()
    watcher.finds_again(transfer)
    watcher.confirms()
    attribute()
    assert inbox_of(checkout) == [InboxReason.WRONG_NETWORK]
    assert credited(checkout) == 0


def test_without_its_unique_key_a_transfer_would_be_two_rows():
    """What makes seeing a block again harmless; the recording statement names the constraint and stops without it."""
    checkout = make_checkout()
    transfer = Watcher().sees(checkout)
    values = Transfer.objects.values().get(pk=transfer.pk)
    own = {"id", "public_id"}
    again = {name: value for name, value in values.items() if name not in own}
    with pytest.raises(IntegrityError, match="transfer_recorded_once"), transaction.atomic():
        Transfer.objects.create(**again)
    alter("ALTER TABLE wallets_transfer DROP CONSTRAINT transfer_recorded_once")
    Transfer.objects.create(**again)
    attribute()
    assert received(checkout) == 50 * DOLLAR


def test_each_merchants_money_stays_in_its_own_inbox():
    ours, theirs = make_merchant(), make_merchant()
    mine, yours = make_checkout(ours), make_checkout(theirs)
    watcher = Watcher("ethereum")
    watcher.sees(mine)
    watcher.sees(yours)
    attribute()
    found = InboxItem.objects.values_list("merchant", "checkout").order_by("pk")
    assert list(found) == [(ours.pk, mine.pk), (theirs.pk, yours.pk)]


def test_deposits_alone_ask_nothing_of_exact_amounts():
    make_transfer(make_checkout())
    with CaptureQueriesContext(connection) as queries:
        assert attribute() == 1
    assert not [query for query in queries if "amountreservation" in query["sql"]]


# A transfer that cannot be credited holds up no other.


def test_one_transfer_nobody_foresaw_holds_up_no_other():
    """The claim stands for any row that fails; the others of its batch are credited, and the next sweep goes on."""
    first, spoilt, last = make_checkout(), make_checkout(), make_checkout()
    watcher = Watcher()
    _, bad, _ = (watcher.sees(c) for c in (first, spoilt, last))
    TransferClaim.objects.create(transfer=bad, kind=ClaimKind.X402, claimed_at=SOON)
    attribute()
    assert [credited(c) for c in (first, spoilt, last)] == [1, 0, 1]
    assert_set_aside(bad)
    later = make_checkout()
    watcher.sees(later)
    attribute()
    assert credited(later) == 1
    TransferClaim.objects.filter(transfer=bad).delete()
    attribute()
    assert credited(spoilt) == 1


# One merchant's rush: it must neither hold up the others nor keep locks for long.


# Times the longest transaction for as many payments to few checkouts, in the same run: a busy machine slows both down. A rush
# takes the time for looking around besides, whatever the machine.
MOST_TIMES_CALM = 8


def rush(count: int, *, held: int) -> Till:
    """So many live checkouts of one price, some of which hold an exact amount."""
    till = Till(make_merchant())
    wallet = make_wallet(make_merchant(), "ethereum", EXACT_OFFERS["ethereum"]["wallet"])
    wallet.merchant = till.merchant
    till.wallets["ethereum"] = wallet
    crowd = make_crowd(till.merchant, count)
    hold(crowd[:held], range(100, 100 + held))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE checkouts_checkout, checkouts_amountreservation")
    return till


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long each transaction of the queue's consumer took, in seconds."""
    took: list[float] = []
    real = queue._attribute

    def measured(*args: Any, **kwargs: Any) -> int:
        started = time.perf_counter()
        try:
            return real(*args, **kwargs)
        finally:
            took.append(time.perf_counter() - started)

    monkeypatch.setattr(queue, "_attribute", measured)
    return took


@pytest.mark.parametrize("step", [0, 97])
@pytest.mark.parametrize("size", [1_000, 5_000])
def test_a_rush_at_one_price_keeps_no_other_merchant_waiting(batches, capsys, size, step):
    """Round payments, and amounts each of which is another."""
    calm = Till(make_merchant())
    make_crowd(calm.merchant, 10)
    for number in range(500):
        calm.sees(25 * DOLLAR + step * (number - 250))
    attribute()
    longest_calm = max(batches)
    till, longest = rush(size, held=900), []
    # Three, because something else may hold up the machine during one.
    for _ in range(3):
        batches.clear()
        for number in range(500):
            till.sees(25 * DOLLAR + step * (number - 250))
        quiet = Till(make_merchant())
        wanted = quiet.checkout(Decimal("40.00"), suffix=100)
        transfer = quiet.sees(exact(wanted))
        assert attribute() == 501
        longest.append(max(batches))
        assert payer_of(transfer) == wanted
        assert InboxItem.objects.filter(merchant=till.merchant).count() > 200
    with capsys.disabled():
        times = ", ".join(f"{seconds:.2f}" for seconds in longest)
        sys.stdout.write(
            f"\nthe longest batches of 501 transfers among {size:,} checkouts of their price: {times} s;"
            f" {longest_calm:.2f} s among ten\n"
        )
    most = MOST_TIMES_CALM * longest_calm + 2 * queue._LOOKING_SECONDS
    assert min(longest) < most


def test_those_who_wait_for_a_chain_to_be_read_are_passed_over_by_an_index(monkeypatch):
    till = rush(10, held=0)
    make_crowd(till.merchant, 20_000, expires_at=NOON - timedelta(hours=2))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE checkouts_checkout")
    asked: dict[str, Any] = {}
    real = candidates._rows

    def rows(statement: str, parameters: Any) -> Any:
        asked[statement] = parameters
        return real(statement, parameters)

    monkeypatch.setattr(candidates, "_rows", rows)
    till.sees()
    attribute()
    assert "expires_at >=" in condition_of("checkout_live_by_amount", candidates._PRICED, asked[candidates._PRICED])


def condition_of(index: str, statement: str, parameters: Any) -> str:
    """By what the database looks into an index to answer a question."""
    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN " + statement, parameters)
        plan: list[str] = [line for (line,) in cursor]
    place = next(number for number, line in enumerate(plan) if index in line)
    return plan[place + 1]


def test_when_time_is_up_the_rest_stays_in_the_queue(monkeypatch, batches):
    monkeypatch.setattr(queue, "_LOOKING_SECONDS", 0)
    till = Till()
    wanted = [till.checkout(suffix=100 * number) for number in range(1, 61)]
    transfers = [till.sees(exact(checkout)) for checkout in wanted]
    assert attribute() == 60
    assert [payer_of(transfer) for transfer in transfers] == wanted
    assert len(batches) == 4


@pytest.fixture
def crowd() -> Till:
    """More checkouts of 25 USD, each with an exact amount, than are looked at."""
    till = rush(MOST_CANDIDATES + 50, held=0)
    ids = list(Checkout.objects.values_list("pk", flat=True).order_by("pk"))
    hold(ids, range(1_001, 1_001 + len(ids)))
    return till


def judged(till: Till, units: int) -> Checkout | str:
    """Whose the money is, or why it is nobody's."""
    transfer = till.sees(units)
    attribute()
    return payer_of(transfer) or inbox_item(transfer).reason


def test_the_only_one_of_a_price_is_found_beside_a_crowd(crowd):
    assert judged(crowd, 25_010_000) == InboxReason.AMBIGUOUS
    wanted = crowd.checkout("25.01", suffix=8_000)
    assert judged(crowd, 25_010_000) == wanted


def test_digits_that_a_wallet_cut_are_found_in_a_crowd(crowd):
    wanted = crowd.checkout(suffix=8_012)
    assert judged(crowd, 25_008_000) == wanted
    assert judged(crowd, 25_001_000) == InboxReason.AMBIGUOUS


def test_nobody_is_the_only_one_near_a_crowd(crowd):
    assert judged(crowd, 25_100_000) == InboxReason.AMBIGUOUS
    assert judged(crowd, 25_000_070) == InboxReason.AMBIGUOUS


def test_a_crowd_that_hides_somebody_makes_a_near_price_doubtful(crowd):
    """None of them can be paid where the money is, and the one who can may not be the only one."""
    Checkout.objects.update(offers={})
    crowd.checkout(suffix=8_012)
    assert judged(crowd, 25_100_000) == InboxReason.AMBIGUOUS


def test_of_very_many_that_are_alike_nobody_is_credited(crowd):
    Checkout.objects.update(customer_ref="ada", product_ref="beans|1kg")
    assert judged(crowd, 25_000_000) == InboxReason.AMBIGUOUS
