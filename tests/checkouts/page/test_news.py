"""Money that a checkout's page tells of without being asked, on each chain, and what it never tells: a stranger's payment."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from checkouts.inbox.service import apply_decisions
from checkouts.lifecycle.endings import cancel_checkout
from checkouts.lifecycle.moves import expire
from checkouts.models import BuyerReport, Checkout, InboxDecision, InboxItem
from checkouts.page.news import MOST_TOLD, read_news
from checkouts.page.streaming.hub import read_facts
from checkouts.rescue.answers import RescueOutcome
from checkouts.states import CheckoutStatus, InboxAct, InboxReason, InboxStatus
from payouts.lifecycle.noted import import_notes
from tests.checkouts.arrivals import SUFFIX, TOKENS, Till, exact, memo, reference_of
from tests.checkouts.factories import make_completed, make_expired, make_page_checkout
from tests.checkouts.inboxes import DONE, LATER, decide, extra_item, give_back, late_item, other_checkout
from tests.checkouts.page.test_views import page_of, version_of, words_in
from tests.checkouts.questions import ask, in_wallet, send, to_inbox
from tests.checkouts.watcher import DOLLAR, Watcher, attribute, inbox_of, pay, status_of
from tests.factories import make_checkout, make_live_chain, make_merchant, make_user
from tests.payouts.factories import BUYER, approved, pay_out, refund_of, take_back
from wallets.models import Transfer, WatchedMovement
from wallets.states import TransferState

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("chains_are_well")]

EXACT = ("ethereum", "solana", "ton", "tron")
WAITS = "Halden Roasters has been told and will look at it. This page shows what they decide."


def told(client: Client, checkout: Checkout, query: str = "") -> list[str]:
    """What the page of a checkout tells without being asked."""
    text = page_of(client, checkout, query)
    return [part.partition("</section>")[0] for part in text.split('<section class="answer')[1:]]


def ended(checkout: Checkout) -> Checkout:
    """The checkout, expired."""
    with transaction.atomic():
        expire(list(Checkout.objects.locked().filter(pk=checkout.pk)), now=LATER)
    checkout.refresh_from_db()
    return checkout


def named_by(how: str, checkout: Checkout) -> dict[str, Any]:
    """What a payer sends who names the checkout in this way, and not the amount unless that is the way."""
    if how == "amount":
        return {"units": exact(checkout)}
    return {"units": 21 * DOLLAR, "labels": (reference_of(checkout) if how == "reference" else memo(checkout),)}


NAMED = [*((chain, "amount") for chain in EXACT), ("solana", "reference"), ("ton", "memo")]


def test_an_open_page_follows_its_networks_only_while_it_takes_money() -> None:
    pages = make_page_checkout(), make_completed()
    followed = read_facts([page.pk for page in pages])
    assert [[chain for chain, _ in followed[page.pk].chains] for page in pages] == [["base", "polygon"], []]


@pytest.mark.parametrize("chain", ["base", "polygon"])
def test_late_money_at_a_deposit_address_is_told(chain: str, client: Client) -> None:
    over, watcher = ended(make_checkout()), Watcher(chain)
    assert told(client, over) == []
    sent = watcher.sees(over, 14 * DOLLAR, at=over.expires_at + timedelta(minutes=4))
    attribute(now=LATER)
    [words] = told(client, over)
    for one in (
        "Your money is not lost",
        f"Your 14.00 USDC on {chain.title()} arrived 4 minutes after this checkout expired.",
        "can accept it for your order or refund it. <b>Don't pay again.</b>",
        WAITS,
        over.public_id,
        sent.tx_hash,
    ):
        assert one in words
    text = page_of(client, over)
    for never in ("No payment arrived in time", "Already sent it?"):
        assert never not in text


@pytest.mark.parametrize(("chain", "how"), NAMED)
def test_late_money_in_the_merchants_wallet_is_told_where_it_names_the_checkout(
    chain: str, how: str, client: Client
) -> None:
    till = Till(chains=EXACT)
    over, other = (till.checkout(suffix=SUFFIX + n, chains=EXACT) for n in (0, 100))
    ended(over)
    ended(other)
    till.sees(**named_by(how, over), at=LATER, chain=chain, token=TOKENS[chain][0])
    attribute(now=LATER)
    assert inbox_of(over) == [InboxReason.LATE]
    [words] = told(client, over)
    assert "after this checkout expired" in words
    assert (
        f"{'25.0037' if how == 'amount' else '21.00'} {TOKENS[chain][0]} on {chain.title() if chain != 'ton' else 'TON'}"
        in words
    )
    assert told(client, other) == []


@pytest.mark.parametrize("chain", ["base", "polygon"])
def test_a_second_payment_at_a_deposit_address_is_told(chain: str, client: Client) -> None:
    paid = make_checkout(redirect_url="https://shop.example/")
    pay(paid)
    assert "data-redirect-seconds" in page_of(client, move_to_now(paid))
    Watcher(chain, height=500).sees(paid, 22 * DOLLAR)
    attribute()
    [words] = told(client, paid)
    assert f"This payment was already complete when your 22.00 USDC on {chain.title()} arrived." in words
    assert WAITS in words
    # There is news to read, so nobody is led away from it.
    assert "data-redirect-seconds" not in page_of(client, paid)


def move_to_now(checkout: Checkout) -> Checkout:
    """The checkout, as if it had been paid a moment ago."""
    Checkout.objects.filter(pk=checkout.pk).update(paid_at=timezone.now())
    return checkout


@pytest.mark.parametrize(("chain", "how"), NAMED)
def test_a_second_payment_in_the_merchants_wallet_is_told_where_it_names_the_checkout(
    chain: str, how: str, client: Client
) -> None:
    till = Till(chains=EXACT)
    paid = till.checkout(suffix=SUFFIX, chains=EXACT)
    till.sees(exact(paid), chain=chain, token=TOKENS[chain][0])
    till.confirms()
    attribute()
    assert (status_of(paid), told(client, paid)) == (CheckoutStatus.COMPLETED, [])
    till.sees(**named_by(how, paid), chain=chain, token=TOKENS[chain][0])
    attribute()
    assert inbox_of(paid) == [InboxReason.EXTRA]
    [words] = told(client, paid)
    assert "This payment was already complete when your" in words


def test_a_cancelled_checkout_is_called_cancelled(client: Client) -> None:
    checkout = make_page_checkout()
    cancel_checkout(checkout.pk, now=checkout.created_at)
    send(checkout, block_time=checkout.created_at + timedelta(minutes=3))
    attribute(now=timezone.now())
    text = page_of(client, checkout)
    [words] = told(client, checkout)
    assert "49.00 USDC on Base arrived after this checkout was cancelled." in words
    assert "This checkout was cancelled" in text
    assert "Checkout cancelled · Halden Roasters" in text
    # The way back names the status as the API does.
    assert "expired" not in re.sub(r"<[^>]*>", "", text)


def test_another_token_at_the_deposit_address_is_told_while_the_page_still_asks(client: Client) -> None:
    checkout = make_page_checkout()
    send(checkout, token="USDbC", block_time=checkout.created_at)
    attribute(now=timezone.now())
    assert inbox_of(checkout) == [InboxReason.WRONG_TOKEN]
    [words] = told(client, checkout)
    assert "Another token was sent" in words
    assert "You sent 49.00 USDbC on Base." in words
    assert "Choose how to pay" in page_of(client, checkout)


def test_money_on_a_network_that_was_not_offered_is_told(client: Client) -> None:
    checkout = make_page_checkout()
    send(checkout, chain="ethereum", block_time=checkout.created_at)
    attribute(now=timezone.now())
    [words] = told(client, checkout)
    assert "Sent on another network" in words
    assert "You sent 49.00 USDC on Ethereum." in words
    assert WAITS in words


# What is never told.


def test_money_that_names_nobody_is_shown_to_nobody(client: Client) -> None:
    """A stranger pays the same price into the same wallet, when the checkout is over and when it is not."""
    till = Till(chains=EXACT)
    over, live, twin = (till.checkout(suffix=SUFFIX + n, chains=EXACT) for n in (0, 100, 200))
    ended(over)
    till.sees(25 * DOLLAR)
    till.sees(25 * DOLLAR, at=LATER)
    attribute(now=LATER)
    assert set(InboxItem.objects.values_list("reason", flat=True)) == {InboxReason.AMBIGUOUS, InboxReason.UNMATCHED}
    for checkout in (over, live, twin):
        assert told(client, checkout) == []


@pytest.mark.parametrize("is_exact", [True, False])
def test_another_token_in_the_merchants_wallet_is_told_by_its_exact_amount_and_never_by_its_price(
    is_exact: bool, client: Client
) -> None:
    till = Till()
    wanted = till.checkout(suffix=SUFFIX)
    units = exact(wanted) if is_exact else 25 * DOLLAR
    till.sees(units, token="USDT", chain="solana")
    attribute()
    # The inbox shows the merchant which checkout it looks like; a stranger may have sent it.
    assert inbox_of(wanted) == [InboxReason.WRONG_TOKEN]
    assert ["25.0037 USDT on Solana" in words for words in told(client, wanted)] == [True] * is_exact


@pytest.mark.parametrize("reason", [InboxReason.DUST, InboxReason.RIVAL, InboxReason.UNMATCHED, InboxReason.AMBIGUOUS])
def test_spam_notices_and_money_that_only_may_be_meant_are_not_told(reason: InboxReason, client: Client) -> None:
    checkout = make_expired()
    to_inbox(checkout, reason, send(checkout, block_time=checkout.expires_at + timedelta(minutes=4)))
    assert told(client, checkout) == []


def test_what_the_network_took_back_is_withdrawn_and_what_is_in_doubt_is_not_told(client: Client) -> None:
    checkout = make_expired()
    late = send(checkout, block_time=checkout.expires_at + timedelta(minutes=4))
    to_inbox(checkout, InboxReason.LATE, late)
    assert len(told(client, checkout)) == 1
    make_live_chain("base", halted_reason="a deep fork", doubted_above=0)
    assert told(client, checkout) == []
    # It may be there all the same: paying again is not offered.
    assert read_news(checkout).has_late_money
    make_live_chain("base", halted_reason="", doubted_above=None)
    Transfer.objects.update(state=TransferState.ORPHANED)
    assert told(client, checkout) == []
    assert not read_news(checkout).has_late_money


def test_another_merchants_page_and_another_checkouts_say_nothing(client: Client) -> None:
    item = late_item()
    assert item.checkout is not None
    for other in (other_checkout(item), make_checkout(make_merchant())):
        assert told(client, ended(other)) == []
    assert len(told(client, item.checkout)) == 1


def test_cents_that_anybody_sends_fill_no_page(client: Client) -> None:
    checkout = make_completed()
    for number in range(MOST_TOLD + 2):
        extra = send(checkout, 10_000 * (number + 1), position=number + 1)
        to_inbox(checkout, InboxReason.EXTRA, extra)
    shown = told(client, checkout)
    assert len(shown) == MOST_TOLD
    assert "0.07 USDC" in shown[0]


# What becomes of it.


def test_what_the_network_shows_as_sent_back_is_told_as_a_fact(client: Client) -> None:
    item = extra_item(22 * DOLLAR)
    assert item.checkout is not None
    give_back(item)
    [words] = told(client, item.checkout)
    assert "Your money was sent back" in words
    assert "Halden Roasters sent back your 22.00 USDC on Base, and the network confirmed it." in words
    assert "Don't pay again" not in words


def test_what_the_network_took_back_from_the_buyer_is_not_called_sent_back(client: Client) -> None:
    item = extra_item(22 * DOLLAR)
    assert item.checkout is not None
    movement = WatchedMovement.objects.get(tx_hash=give_back(item))
    sent = read_facts([item.checkout.pk])
    take_back(movement)
    [words] = told(client, item.checkout)
    assert "Your money was not added to this payment" in words
    assert "sent back" not in words
    # An open page learns of it.
    assert read_facts([item.checkout.pk]) != sent


def test_all_of_the_money_that_was_sent_back_in_another_token_is_all_of_it(client: Client) -> None:
    checkout = make_checkout()
    pay(checkout, 10 * DOLLAR)
    over = ended(checkout)
    pay_out(approved(refund_of(over, address=BUYER, chain="polygon", token="USDT").payout))
    text = page_of(client, over)
    assert "Your money was sent back" in text
    assert "10.00 USDT" in text
    assert "Don't send the rest" not in text


def test_a_part_that_was_sent_back_is_called_a_part(client: Client) -> None:
    item = extra_item(22 * DOLLAR)
    assert item.checkout is not None
    give_back(item, 5 * DOLLAR)
    [words] = told(client, item.checkout)
    assert "A part of your money was sent back" in words
    assert "Halden Roasters sent back a part of your 22.00 USDC on Base" in words


def test_what_a_person_noted_once_is_told_as_what_the_merchant_says(client: Client) -> None:
    """As the release before wrote it, and as `payouts.lifecycle.noted` takes it over: no chain confirmed that hash."""
    item = extra_item(22 * DOLLAR)
    assert item.checkout is not None
    InboxDecision.objects.create(
        item=item,
        act=InboxAct.REFUNDED,
        refund_tx="0x" + "ab" * 32,
        actor=make_user(),
        decided_at=LATER,
        due_at=LATER,
        done_at=DONE,
    )
    InboxItem.objects.filter(pk=item.pk).update(status=InboxStatus.REFUNDED, resolved_at=DONE)
    assert import_notes() == 1
    [words] = told(client, item.checkout)
    assert "Halden Roasters says that your 22.00 USDC on Base was sent back." in words
    assert "the network confirmed it" not in words


def test_what_the_merchant_dismissed_leads_to_them(client: Client) -> None:
    item = extra_item(22 * DOLLAR)
    assert item.checkout is not None
    decide(item, InboxAct.DISMISS)
    apply_decisions(now=DONE)
    [words] = told(client, item.checkout)
    assert "Your money was not added to this payment" in words
    assert WAITS not in words
    assert item.checkout.public_id in words


def test_late_money_that_was_accepted_waits_no_longer_and_the_open_page_learns_of_it(client: Client) -> None:
    item = late_item()
    assert item.checkout is not None
    held = version_of(client, item.checkout)
    decide(item, InboxAct.ACCEPT_LATE)
    apply_decisions(now=DONE)
    panel = client.get(f"/c/{item.checkout.code}/status", headers=held).json()["panel"]
    assert "Your payment was accepted" in panel
    assert "/receipt" in panel
    assert told(client, item.checkout) == []
    assert "No payment arrived in time" not in panel


def test_what_was_credited_to_another_checkout_is_not_called_this_ones(client: Client) -> None:
    item = extra_item(25 * DOLLAR)
    assert item.checkout is not None
    decide(item, InboxAct.CREDIT, checkout=other_checkout(item))
    apply_decisions(now=DONE)
    [words] = told(client, item.checkout)
    assert "Your money was not added to this payment" in words


def test_what_a_person_credited_to_this_checkout_is_shown_as_a_payment_and_told_no_more(client: Client) -> None:
    checkout = make_checkout()
    Watcher().sees(checkout, 5 * DOLLAR, token="USDbC")
    attribute()
    item = InboxItem.objects.get()
    assert [answer.outcome for answer in read_news(checkout).told] == [RescueOutcome.WAITING]
    decide(item, InboxAct.CREDIT, checkout=checkout)
    apply_decisions(now=DONE)
    assert item.transfer.payment.checkout == checkout
    assert read_news(checkout).told == ()


def test_a_renewal_is_offered_again_once_the_merchant_dismissed_the_late_money(client: Client) -> None:
    shop = make_merchant(buyers_may_retry=True)
    item = late_item(merchant=shop, late=3 * DOLLAR)
    assert item.checkout is not None
    assert "Start again" not in page_of(client, item.checkout)
    decide(item, InboxAct.DISMISS)
    apply_decisions(now=DONE)
    text = page_of(client, item.checkout)
    assert "Start again" in text
    assert "Don't pay again" not in text


# The buyer who asks, the page that is open, and the cost.


def test_a_buyer_who_asks_about_it_reads_it_once(client: Client) -> None:
    checkout = make_expired()
    late = send(checkout, block_time=checkout.expires_at + timedelta(minutes=4))
    to_inbox(checkout, InboxReason.LATE, late)
    asked = ask(client, checkout, late.tx_hash)
    text = words_in(client.get(asked["Location"]))
    assert text.count('<section class="answer') == 1
    assert 'id="answer"' in text
    assert WAITS in text
    # What was found then is old: nothing had been decided.
    BuyerReport.objects.update(details={"case": "reading"}, verdict="not_final")
    assert WAITS in words_in(client.get(asked["Location"]))


@pytest.mark.parametrize("make", [make_expired, make_completed])
def test_an_open_page_learns_of_late_money_and_of_what_was_decided(
    make: Callable[[], Checkout], client: Client
) -> None:
    checkout = make()
    path, held = f"/c/{checkout.code}/status", version_of(client, checkout)
    assert client.get(path, headers=held).status_code == 304
    transfer = send(checkout, 14 * DOLLAR, block_time=checkout.expires_at + timedelta(minutes=2))
    attribute(now=timezone.now())
    seen = client.get(path, headers=held)
    assert "14.00 USDC on Base" in seen.json()["panel"]
    # The sheet of styles comes with the first answer of the page.
    assert "css/answer" in seen.json()["panel"]
    held = {"If-None-Match": seen["ETag"]}
    assert client.get(path, headers=held).status_code == 304
    Transfer.objects.filter(pk=transfer.pk).update(state=TransferState.CONFIRMED, confirmed_at=timezone.now())
    give_back(InboxItem.objects.get(transfer=transfer))
    assert "was sent back" in client.get(path, headers=held).json()["panel"]


def test_a_browser_without_scripts_asks_again_for_an_expired_page(client: Client) -> None:
    text = page_of(client, make_expired())
    assert '<noscript> <meta http-equiv="refresh" content="60"> </noscript>' in text


def test_what_is_told_costs_one_query_however_much_it_is(client: Client) -> None:
    quiet, busy = make_expired(), make_expired()
    for number in range(MOST_TOLD):
        late = send(busy, position=number, block_time=busy.expires_at + timedelta(minutes=4))
        to_inbox(busy, InboxReason.LATE, late)
    counts = []
    for checkout in (quiet, busy):
        with CaptureQueriesContext(connection) as asked:
            client.get(f"/c/{checkout.code}")
        counts.append(len(asked))
        assert sum("checkouts_inboxitem" in query["sql"] for query in asked.captured_queries) == 1
    assert counts == [3, 3]


def test_wallet_money_of_another_checkout_of_the_merchant_costs_and_tells_nothing(client: Client) -> None:
    checkout = make_expired()
    to_inbox(checkout, InboxReason.UNMATCHED, in_wallet(checkout), is_meant=False)
    assert read_news(checkout).told == ()
