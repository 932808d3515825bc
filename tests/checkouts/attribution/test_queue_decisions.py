"""Money in a merchant's own wallet, from the queue to the checkout or the inbox."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.audit.actors import Actor
from accounts.models import Merchant
from accounts.states import Mode
from checkouts.attribution import queue
from checkouts.attribution.exact_rules import MOST_NEAR
from checkouts.models import Checkout, InboxItem, Payment
from checkouts.states import CheckoutStatus, InboxReason, InboxStatus
from gateway.core.restores import Restore
from links.models import LinkCheckout
from tests.checkouts.arrivals import Till, ago, early, exact, inbox_item, memo, payer_of, reference_of, reserve
from tests.checkouts.watcher import DOLLAR, SOON, attribute, events_of, fresh, received, status_of
from tests.factories import make_checkout, make_merchant, make_transfer, make_user
from tests.links.factories import make_link
from wallets.models import ReceivingWallet
from wallets.receiving.service import set_machine_wallet
from wallets.states import ClaimKind

pytestmark = pytest.mark.django_db

SAME: dict[str, Any] = {"customer_ref": "ada", "product_ref": "beans|1kg"}


def payer_of_sent(till: Till, units: int = 25 * DOLLAR, **where: Any) -> Checkout | None:
    """Whom money is credited to that arrives now."""
    transfer = till.sees(units, **where)
    attribute()
    return payer_of(transfer)


def test_the_exact_amount_is_credited_among_any_others(till):
    wanted = till.checkout(suffix=3_700)
    till.checkout(suffix=100)
    transfer = till.sees(exact(wanted))
    till.confirms()
    attribute()
    assert payer_of(transfer) == wanted
    assert status_of(wanted) == CheckoutStatus.COMPLETED
    assert events_of(wanted) == ["completed"]
    assert Payment.objects.get().reason == "named by its exact amount"
    assert transfer.pk == Payment.objects.get().transfer.claim.pk
    assert not InboxItem.objects.exists()


def test_the_round_price_is_credited_to_the_only_one_who_asks_it(till):
    wanted = till.checkout(suffix=3_700)
    till.checkout("24.00", suffix=100)
    assert payer_of_sent(till, 25 * DOLLAR) == wanted


@pytest.mark.parametrize(("milliseconds", "is_paid"), [(0, True), (999, True), (1_000, False)])
def test_a_checkout_of_the_blocks_own_second_is_found_for_its_round_price(till, milliseconds, is_paid):
    """Blocks count whole seconds."""
    made = till.checkout(suffix=3_700, created_at=SOON + timedelta(milliseconds=milliseconds))
    assert payer_of_sent(till, 25 * DOLLAR) == (made if is_paid else None)


def test_the_round_price_of_two_waits_with_both_as_candidates(till):
    first, second = till.checkout(suffix=100), till.checkout(suffix=200)
    transfer = till.sees()
    attribute()
    item = inbox_item(transfer)
    assert (item.reason, item.checkout) == (InboxReason.AMBIGUOUS, None)
    assert item.status == InboxStatus.OPEN
    assert {c["checkout"] for c in item.candidates} == {first.public_id, second.public_id}
    assert all(c["why_not"] for c in item.candidates)
    assert status_of(first) == status_of(second) == CheckoutStatus.PENDING


def test_the_inbox_names_twenty_candidates_at_most(till):
    for suffix in range(100, 2_600, 100):
        till.checkout(suffix=suffix)
    transfer = till.sees()
    attribute()
    assert len(inbox_item(transfer).candidates) == 20


def test_a_reference_names_a_checkout_whatever_the_amount(till):
    wanted = till.checkout(suffix=3_700)
    till.checkout(suffix=100)
    reference = reference_of(wanted)
    labels = ("hello", "1" * 32, reference, "\ud7ff")
    assert payer_of_sent(till, 7 * DOLLAR, chain="solana", labels=labels) == wanted
    till.confirms()
    attribute()
    assert status_of(wanted) == CheckoutStatus.UNDERPAID


def test_the_reference_of_another_merchants_checkout_names_nobody(till):
    theirs = Till(make_merchant()).checkout(suffix=3_700)
    ours = till.checkout(suffix=3_700)
    labels = (reference_of(theirs), memo(theirs))
    assert payer_of_sent(till, exact(theirs), labels=labels) == ours


def test_a_released_reference_still_names_its_checkout(till):
    old = till.checkout(status=CheckoutStatus.EXPIRED, **ago(10_000))
    reserve(old, released_at=SOON)
    transfer = till.sees(labels=(reference_of(old),))
    attribute()
    item = inbox_item(transfer)
    assert (item.checkout, item.reason) == (old, InboxReason.LATE)


def test_exact_money_for_a_completed_checkout_is_extra(till):
    paid = till.checkout(suffix=3_700, status=CheckoutStatus.COMPLETED)
    other = till.checkout(suffix=100)
    transfer = till.sees(exact(paid))
    attribute()
    item = inbox_item(transfer)
    assert (item.checkout, item.reason) == (paid, InboxReason.EXTRA)
    assert received(other) == 0


def test_exact_money_for_a_cooling_checkout_is_late(till):
    over = till.checkout(suffix=3_700, status=CheckoutStatus.EXPIRED, **ago(60))
    till.checkout(suffix=100)
    transfer = till.sees(exact(over))
    attribute()
    item = inbox_item(transfer)
    assert (item.checkout, item.reason) == (over, InboxReason.LATE)


def be_cautious(till):
    Merchant.objects.filter(pk=till.merchant.pk).update(round_price_rivals=True)


def test_a_round_payment_beside_a_checkout_that_expired_lately_is_credited_and_told(till):
    late = till.checkout(suffix=100, status=CheckoutStatus.EXPIRED, **ago(29))
    live = till.checkout(suffix=200)
    transfer = till.sees()
    attribute()
    assert payer_of(transfer) == live
    notice = inbox_item(transfer)
    assert (notice.reason, notice.status) == (InboxReason.RIVAL, InboxStatus.OPEN)
    assert notice.checkout == live
    assert live.public_id in notice.explanation
    assert [named["checkout"] for named in notice.candidates] == [late.public_id]


def test_a_round_payment_without_a_rival_leaves_no_notice(till):
    live = till.checkout(suffix=200)
    assert payer_of_sent(till, 25 * DOLLAR) == live
    assert not InboxItem.objects.exists()


def test_a_merchant_may_have_round_payments_beside_a_rival_reviewed(till, settings):
    be_cautious(till)
    till.checkout(suffix=100, status=CheckoutStatus.EXPIRED, **ago(29))
    live = till.checkout(suffix=200)
    transfer = till.sees()
    attribute()
    assert inbox_item(transfer).reason == InboxReason.AMBIGUOUS
    settings.RIVAL_MINUTES = 0
    assert payer_of_sent(till, 25 * DOLLAR) == live


def test_a_shortened_payment_beside_a_rival_is_doubtful_for_everybody(till):
    till.checkout(suffix=3_760, status=CheckoutStatus.EXPIRED, **ago(29))
    till.checkout(suffix=3_742)
    transfer = till.sees(25 * DOLLAR + 3_700)
    attribute()
    assert inbox_item(transfer).reason == InboxReason.AMBIGUOUS


def test_one_that_waits_for_its_chain_to_be_read_is_a_rival_before_it_expires(till):
    be_cautious(till)
    over = till.checkout(suffix=100, **ago(29))
    till.checkout(suffix=200)
    transfer = till.sees()
    attribute()
    assert inbox_item(transfer).reason == InboxReason.AMBIGUOUS
    assert status_of(over) == CheckoutStatus.PENDING


def test_two_round_payments_for_two_interchangeable_checkouts_pay_one_each(till):
    older = till.checkout(suffix=100, **SAME, **early(5))
    younger = till.checkout(suffix=200, **SAME)
    first, second = till.sees(), till.sees()
    till.confirms()
    attribute()
    assert [payer_of(first), payer_of(second)] == [older, younger]
    assert status_of(older) == status_of(younger) == CheckoutStatus.COMPLETED


def test_a_third_round_payment_is_for_neither_of_two_that_are_covered(till):
    till.checkout(suffix=100, **SAME, **early(5))
    till.checkout(suffix=200, **SAME)
    transfers = [till.sees() for _ in range(3)]
    attribute()
    assert inbox_item(transfers[2]).reason == InboxReason.UNMATCHED


def test_money_to_a_deposit_address_in_the_same_batch_counts_for_the_next_decision(till):
    older = till.checkout(suffix=100, **SAME, **early(5))
    younger = till.checkout(suffix=200, **SAME)
    address = make_checkout().offers["base"]["address"]
    older.offers["base"] = {"tokens": ["USDC"], "address": address}
    older.save(update_fields=["offers"])
    make_transfer(older, recipient=address)
    transfer = till.sees()
    attribute()
    assert payer_of(transfer) == younger


def test_a_part_payment_is_told_by_its_digits_and_topped_up_by_a_fresh_amount(till):
    wanted = till.checkout(suffix=3_700)
    till.checkout("20.00", suffix=100)
    assert payer_of_sent(till, 23_503_700) == wanted
    till.confirms()
    attribute()
    assert status_of(wanted) == CheckoutStatus.UNDERPAID
    missing = fresh(wanted).amount - fresh(wanted).amount_received
    assert f"{missing}" == "1.496300"
    # Rounded up to a cent, what is missing is the price that counts now.
    assert payer_of_sent(till, 1_500_000) == wanted
    till.confirms()
    attribute()
    assert status_of(wanted) == CheckoutStatus.COMPLETED


def test_an_underpaid_checkouts_whole_price_may_still_mean_it(till):
    wanted = till.checkout(suffix=3_700)
    payer_of_sent(till, 23_503_700)
    till.checkout(suffix=100)
    assert payer_of_sent(till, 25 * DOLLAR) is None
    assert payer_of_sent(till, 25_003_700) == wanted


@pytest.mark.parametrize("price", ["25.00", "25.10"])
@pytest.mark.parametrize("sent", [10_000, 310_000])
def test_a_few_cents_with_a_strangers_digits_bring_nobody_the_strangers_money(till, price, sent):
    """Who guesses the digits of everybody's amounts changes what is missing of them, and so their prices."""
    stranger = till.checkout(suffix=3_700)
    till.checkout(price, suffix=100)
    assert payer_of_sent(till, sent + 3_700) == stranger
    assert payer_of_sent(till, 25 * DOLLAR) is None


def test_money_in_a_wallet_that_was_replaced_pays_whoever_names_that_wallet(till):
    before = till.checkout(suffix=3_700)
    old = till.replace_wallet("ethereum")
    after = till.checkout(suffix=100)
    assert payer_of_sent(till, exact(before), wallet=old) == before
    transfer = till.sees(exact(after), wallet=old)
    attribute()
    item = inbox_item(transfer)
    assert (item.checkout, item.reason) == (after, InboxReason.WRONG_NETWORK)


def test_exact_money_on_a_chain_that_was_not_offered_is_on_the_wrong_network(till):
    wanted = till.checkout(suffix=3_700, chains=("solana",))
    transfer = till.sees(exact(wanted))
    attribute()
    item = inbox_item(transfer)
    assert (item.checkout, item.reason) == (wanted, InboxReason.WRONG_NETWORK)


def test_dust_and_look_alikes_stay_out_whatever_they_name(till):
    wanted = till.checkout(suffix=3_700)
    label = memo(wanted)
    dust = till.sees(9_999, labels=(label,))
    fake = till.sees(exact(wanted), token="FAKE", labels=(label,))
    attribute()
    assert inbox_item(dust).reason == InboxReason.DUST
    assert inbox_item(dust).status == InboxStatus.DISMISSED
    item = inbox_item(fake)
    assert (item.reason, item.checkout) == (InboxReason.WRONG_TOKEN, wanted)
    assert received(wanted) == 0


def test_a_credited_transfer_whose_facts_change_finds_its_checkout_again(till):
    wanted = till.checkout(suffix=3_700)
    transfer = till.sees(exact(wanted))
    attribute()
    assert status_of(wanted) == CheckoutStatus.PROCESSING
    till.watcher().loses(transfer)
    attribute()
    assert status_of(wanted) == CheckoutStatus.PENDING
    till.watcher().finds_again(transfer)
    till.confirms()
    attribute()
    assert status_of(wanted) == CheckoutStatus.COMPLETED


def test_what_came_back_after_expiry_is_late(till):
    wanted = till.checkout(suffix=3_700)
    transfer = till.sees(exact(wanted))
    attribute()
    till.watcher().loses(transfer)
    attribute()
    type(wanted).objects.filter(pk=wanted.pk).update(status=CheckoutStatus.EXPIRED)
    till.watcher().finds_again(transfer)
    attribute()
    assert inbox_item(transfer).reason == InboxReason.LATE


def test_the_largest_and_the_strangest_amounts_hold_nobody_up(till):
    wanted = till.checkout(suffix=3_700)
    for units in (2**256 - 1, 10**30 + 1, 10_000, 10_001):
        till.sees(units, labels=("\u0000"[1:], "x" * 128))
    transfer = till.sees(exact(wanted))
    assert attribute() == 5
    assert payer_of(transfer) == wanted


def test_the_number_of_statements_does_not_grow_with_the_transfers_looked_at_together():
    def statements(transfers: int) -> int:
        till = Till()
        for number in range(1, transfers + 1):
            checkout = till.checkout(suffix=100 * number)
            till.sees(exact(checkout))
            till.sees(25 * DOLLAR + number)
        with CaptureQueriesContext(connection) as queries:
            assert attribute() == 2 * transfers
        return len(queries)

    assert statements(2) == statements(12)


def test_a_transfer_mined_before_the_amount_was_reserved_does_not_mean_it(till):
    later = till.checkout(created_at=SOON - timedelta(minutes=2))
    reserve(later, reserved_at=SOON + timedelta(minutes=5))
    till.checkout(suffix=100)
    transfer = till.sees(exact(later))
    attribute()
    assert inbox_item(transfer).reason == InboxReason.AMBIGUOUS


def test_an_amount_given_up_long_ago_makes_a_near_price_doubtful(till):
    old = till.checkout(status=CheckoutStatus.EXPIRED, **ago(10_000))
    reserve(old, 4_200, released_at=SOON)
    live = till.checkout(suffix=3_700)
    transfer = till.sees(25_004_200)
    attribute()
    item = inbox_item(transfer)
    assert item.reason == InboxReason.AMBIGUOUS
    assert item.candidates[0]["checkout"] == old.public_id
    assert payer_of_sent(till, 25_004_300) == live


# Comments beside money in a merchant's own wallet: codes of checkouts, whatever stands around them.


@pytest.mark.parametrize("written", ["{}", "  {}\n", "Order {}", '"{}"', "{}%20"])
@pytest.mark.parametrize("spell", [str, str.upper])
def test_a_comment_names_a_checkout_whatever_stands_around_it(till, written, spell):
    wanted = till.checkout("30.00", suffix=3_700)
    till.checkout(suffix=100)
    transfer = till.sees(labels=(spell(written.format(memo(wanted))),))
    attribute()
    assert payer_of(transfer) == wanted


def test_the_codes_of_two_checkouts_in_one_comment_are_doubtful(till):
    one, other = till.checkout(suffix=3_700), till.checkout("30.00", suffix=100)
    transfer = till.sees(labels=(f"{memo(one)} {memo(other)}",))
    attribute()
    assert inbox_item(transfer).reason == InboxReason.AMBIGUOUS


@pytest.mark.parametrize("units", [25 * DOLLAR, 25_003_000, 25_100_000, 23_503_700])
def test_a_code_that_is_nobodys_makes_a_price_doubtful(till, units):
    wanted = till.checkout(suffix=3_700)
    transfer = till.sees(units, labels=("Order 4TK9ZQ0M7XW2BH5D",))
    attribute()
    item = inbox_item(transfer)
    assert item.reason == InboxReason.AMBIGUOUS
    assert "4tk9zq0m7xw2bh5d" in item.explanation
    assert item.candidates[0]["checkout"] == wanted.public_id
    exactly = till.sees(exact(wanted), labels=("4TK9ZQ0M7XW2BH5D",))
    attribute()
    assert payer_of(exactly) == wanted


def test_an_ordinary_comment_is_no_doubt(till):
    wanted = till.checkout(suffix=3_700)
    transfer = till.sees(labels=("Thanks! Order 1042", "555812"))
    attribute()
    assert payer_of(transfer) == wanted


# A checkout whose seen transfers pay it in full asks for nothing more, final or not.


STRANGERS = 201_500_000
MACHINES = "3UJQqKq8Xyx4aVRmHgEwpQZiW7toYRQCTy6Bgp1RdKnK"


@pytest.mark.parametrize(("own_first", "batch"), [(True, 1), (True, 500), (False, 500)])
def test_money_near_a_paid_checkouts_price_waits_for_a_person(till, own_first, batch):
    paid, other = till.checkout("200.00", 2_700), till.checkout("204.00", 1_300)
    sent = {}
    for units in (exact(paid), STRANGERS) if own_first else (STRANGERS, exact(paid)):
        sent[units] = till.sees(units)
    attribute(batch=batch)
    assert payer_of(sent[exact(paid)]) == paid
    assert status_of(paid) == CheckoutStatus.PROCESSING
    assert inbox_item(sent[STRANGERS]).reason == InboxReason.UNMATCHED
    till.confirms()
    attribute()
    assert status_of(paid) == CheckoutStatus.COMPLETED
    assert received(paid) == exact(paid)
    assert status_of(other) == CheckoutStatus.PENDING


@pytest.mark.parametrize("own_first", [True, False])
@pytest.mark.parametrize("by_address", [True, False])
def test_a_round_price_pays_the_one_that_still_asks_in_the_same_batch(till, own_first, by_address):
    paid, other = till.checkout(suffix=100), till.checkout(suffix=200)

    def own() -> None:
        if not by_address:
            till.sees(exact(paid))
            return
        address = make_checkout().offers["base"]["address"]
        paid.offers["base"] = {"tokens": ["USDC"], "address": address}
        paid.save(update_fields=["offers"])
        make_transfer(paid, recipient=address, units=25 * DOLLAR)

    if own_first:
        own()
    round_price = till.sees()
    if not own_first:
        own()
    attribute()
    assert payer_of(round_price) == other
    assert status_of(paid) == CheckoutStatus.PROCESSING


def test_a_links_next_payer_gets_what_the_one_before_asks_no_more_for(till):
    link = make_link(till.merchant, mode=Mode.LIVE)
    first, second = till.checkout("200.00", 2_700), till.checkout("200.00", 1_300)
    for number, made in enumerate((first, second)):
        LinkCheckout.objects.create(link=link, checkout=made, slot=str(number), attempt=1)
    own = till.sees(exact(first))
    attribute()
    theirs = till.sees(STRANGERS)
    attribute()
    assert [payer_of(own), payer_of(theirs)] == [first, second]
    assert received(first) == exact(first)


def test_money_at_the_wallet_for_machines_pays_no_checkout_paid_or_not(till):
    paid, other = till.checkout("200.00", 2_700), till.checkout("204.00", 1_300)
    till.sees(exact(paid))
    attribute()
    set_machine_wallet(till.merchant, chain="solana", address=MACHINES, actor=Actor(make_user()), now=SOON)
    wallet = ReceivingWallet.objects.get(address=MACHINES)
    at_machines = till.sees(STRANGERS, chain="solana", wallet=wallet, purpose=ClaimKind.X402)
    attribute()
    assert payer_of(at_machines) is None
    assert [received(paid), received(other)] == [exact(paid), 0]
    assert not InboxItem.objects.exists()


def test_a_crowd_of_paid_checkouts_hides_nobody(till):
    for number in range(MOST_NEAR + 5):
        paid = till.checkout(suffix=100 + number)
        till.sees(exact(paid))
    attribute()
    wanted = till.checkout(suffix=5_000)
    transfer = till.sees(25_100_000)
    attribute()
    assert payer_of(transfer) == wanted


def test_its_own_exact_amount_again_is_extra(till):
    paid = till.checkout(suffix=100)
    till.sees(exact(paid))
    attribute()
    again = till.sees(exact(paid))
    attribute()
    item = inbox_item(again)
    assert (item.reason, item.checkout) == (InboxReason.EXTRA, paid)
    assert received(paid) == exact(paid)


def reorg_and_second_payment(till: Till) -> Any:
    """A checkout's money is taken back, and its buyer pays again before anything was processed."""
    paid = till.checkout(suffix=100)
    first = till.sees(exact(paid))
    attribute()
    till.watcher().loses(first)
    second = till.sees(exact(paid))
    attribute()
    return paid, second


def test_a_checkout_that_lost_its_money_to_a_reorg_asks_again_at_once(till):
    paid, second = reorg_and_second_payment(till)
    assert payer_of(second) == paid
    assert received(paid) == exact(paid)
    till.confirms()
    attribute()
    assert status_of(paid) == CheckoutStatus.COMPLETED


def test_without_processing_reorgs_first_the_second_payment_would_be_extra(till, monkeypatch):
    """The negative control of the test above."""
    monkeypatch.setattr(queue, "_changed_first", lambda transfers: transfers)
    _, second = reorg_and_second_payment(till)
    assert inbox_item(second).reason == InboxReason.EXTRA


# After a restore a price alone proves nothing: the checkout that is meant may be lost.


def restore_lost(hours: int) -> None:
    """A restore lost so many hours up to now."""
    Restore.objects.create(lost_from=SOON - timedelta(hours=hours), restored_at=SOON, amounts_until=SOON)


def test_a_price_alone_proves_nothing_while_a_lost_checkout_may_be_paid(till):
    till.checkout()
    restore_lost(hours=1)
    transfer = till.sees(25 * DOLLAR)
    attribute()
    assert payer_of(transfer) is None
    assert inbox_item(transfer).reason == InboxReason.AMBIGUOUS


def test_an_exact_amount_still_names_its_checkout_then(till):
    wanted = till.checkout(suffix=3_700)
    restore_lost(hours=1)
    transfer = till.sees(exact(wanted))
    attribute()
    assert payer_of(transfer) == wanted


def test_a_price_is_enough_outside_of_the_lost_time(till):
    wanted = till.checkout()
    Restore.objects.create(lost_from=SOON - timedelta(days=3), restored_at=SOON - timedelta(days=2), amounts_until=SOON)
    transfer = till.sees(25 * DOLLAR)
    attribute()
    assert payer_of(transfer) == wanted
