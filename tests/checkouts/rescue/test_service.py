"""A buyer asks what became of a transaction: over HTTP, by form, without scripts, and with nothing said that is not theirs."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.states import Mode
from checkouts.models import BuyerReport, Checkout
from checkouts.states import CheckoutStatus, InboxReason, InboxStatus, RescueVerdict
from tests.checkouts.factories import (
    RETURN_URL,
    make_closed,
    make_completed,
    make_exact_choice,
    make_expired,
    make_page_checkout,
    make_seen,
    make_test_checkout,
    make_underpaid,
    move,
    pay,
)
from tests.checkouts.page.test_views import words_in
from tests.checkouts.questions import UNKNOWN, answer, any_hash, ask, in_wallet, send, to_inbox
from tests.contract.provoking import count_requests
from tests.factories import make_merchant
from wallets.models import Transfer

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("chains_are_well")]


STAGES: dict[str, Callable[[], Checkout]] = {
    "pay": make_page_checkout,
    "underpaid": make_underpaid,
    "seen": make_seen,
    "closed": make_closed,
    "expired": make_expired,
    "completed": make_completed,
    "test mode": make_test_checkout,
    "no network": lambda: make_page_checkout(offers={}),
}


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_has_a_form_that_works_without_scripts(stage: str, client: Client) -> None:
    checkout = STAGES[stage]()
    text = words_in(client.get(f"/c/{checkout.code}"))
    assert f'method="post" action="/c/{checkout.code}/find">' in text
    assert text.count('name="tx"') == 1
    assert 'id="answer"' not in text
    assert 'id="answer-heading"' in answer(client, checkout, UNKNOWN)


def test_money_that_is_counted_is_called_so(client: Client) -> None:
    checkout = make_completed(redirect_url="")
    [transfer] = Transfer.objects.all()
    words = answer(client, checkout, transfer.tx_hash)
    assert "We received your payment" in words
    assert "Your 49.00 USDC on Base arrived. You don't need to send anything else." in words
    assert f"https://basescan.org/tx/{transfer.tx_hash}" in words
    report = BuyerReport.objects.get()
    assert (report.verdict, report.chain) == (RescueVerdict.CREDITED, "base")
    assert (report.merchant_id, report.mode) == (checkout.merchant_id, "live")
    assert report.details["amount"] == "49.00 USDC"


def test_an_explorer_s_link_and_other_spellings_are_the_same_transaction(client: Client) -> None:
    checkout = make_completed(redirect_url="")
    [transfer] = Transfer.objects.all()
    for text in (
        f" {transfer.tx_hash.upper().replace('0X', '0x')} ",
        f"https://basescan.org/tx/{transfer.tx_hash}?a=b",
        transfer.tx_hash.removeprefix("0x"),
    ):
        assert "We received your payment" in answer(client, checkout, text)
    assert BuyerReport.objects.count() == 1


def test_a_second_payment_is_extra_and_the_page_stays(client: Client) -> None:
    checkout = make_completed()
    extra = send(checkout, block_time=timezone.now())
    to_inbox(checkout, InboxReason.EXTRA, extra)
    asked = ask(client, checkout, extra.tx_hash)
    text = words_in(client.get(asked["Location"]))
    assert "This payment was already complete when your 49.00 USDC" in text
    assert "data-redirect-seconds" not in text
    assert "Taking you back" not in text
    assert "http-equiv" not in text  # not even to the page itself, for there is something to read
    assert RETURN_URL.partition("?")[0] in text


def test_money_found_too_late_is_no_fault_of_the_buyer(client: Client) -> None:
    checkout = make_expired()
    found = send(checkout, block_time=checkout.expires_at)
    to_inbox(checkout, InboxReason.LATE_OUTAGE, found)
    assert "This is not your fault" in answer(client, checkout, found.tx_hash)


def test_without_nodes_nothing_is_claimed(client: Client) -> None:
    words = answer(client, make_page_checkout(), UNKNOWN)
    assert "We could not search every network" in words
    assert "Base, Polygon, TON, Tron, Ethereum did not answer" in words
    assert "Search again" in words
    report = BuyerReport.objects.get()
    assert (report.verdict, report.chain) == (RescueVerdict.UNREACHABLE, "")


def test_a_test_checkout_asks_no_chain(client: Client) -> None:
    checkout = make_test_checkout()
    words = answer(client, checkout, UNKNOWN)
    assert "It knows only its own simulated transactions" in words
    assert BuyerReport.objects.get().verdict == RescueVerdict.NOT_FOUND
    paid = pay(checkout, confirmations=12)
    move(checkout, CheckoutStatus.COMPLETED)
    assert "We received your payment" in answer(client, checkout, paid.tx_hash)
    assert "basescan" not in answer(client, checkout, paid.tx_hash)


def test_another_test_checkout_s_money_is_not_known(client: Client) -> None:
    paid = make_test_checkout()
    transfer = send(paid)
    pay(paid, tx_hash=any_hash())
    mine = make_page_checkout(paid.merchant, mode=Mode.TEST, offers={})
    for known in Transfer.objects.all():
        assert "We can't find" in answer(client, mine, known.tx_hash)
    assert "usually credit it within a minute" in answer(client, paid, transfer.tx_hash)


def test_live_money_is_nothing_to_a_test_checkout(client: Client) -> None:
    live = make_seen()
    [transfer] = Transfer.objects.all()
    checkout = make_test_checkout(merchant=live.merchant)
    assert "We can't find" in answer(client, checkout, transfer.tx_hash)


def test_a_stranger_s_payment_looks_like_one_that_nobody_knows(client: Client) -> None:
    mine = make_page_checkout()
    others = [make_completed(), make_completed(merchant=mine.merchant)]
    said = []
    for other in others:
        transfer = Transfer.objects.get(payment__checkout=other)
        said.append(answer(client, mine, transfer.tx_hash).replace(transfer.tx_hash, ""))
    said.append(answer(client, mine, UNKNOWN).replace(UNKNOWN, ""))
    assert said[0] == said[1] == said[2]
    assert "We could not search every network" in said[0]


@pytest.mark.parametrize("digits", ["0" * 64, "5a" * 32, "f" * 64])
def test_an_unknown_hash_is_shown_with_its_prefix(client: Client, digits: str) -> None:
    assert f"0x{digits}" in answer(client, make_page_checkout(), f"0x{digits}")


def test_money_in_the_wallet_that_the_inbox_gives_this_checkout_is_told(client: Client) -> None:
    checkout = make_exact_choice()
    long_ago = timezone.now() - timedelta(hours=1)
    move(checkout, CheckoutStatus.EXPIRED, created_at=long_ago, expires_at=long_ago)
    late = in_wallet(checkout)
    to_inbox(checkout, InboxReason.LATE, late)
    assert "Your money is not lost" in answer(client, checkout, late.tx_hash)


def test_who_asks_about_a_payment_sees_the_network_it_is_on(client: Client) -> None:
    checkout = make_page_checkout()
    paid = pay(checkout, 20_000_000, chain="polygon", token="USDT")
    asked = ask(client, checkout, paid.tx_hash)
    text = words_in(client.get(asked["Location"]))
    assert "Send only USDT on Polygon" in text
    # A choice leads to an address without the payment that was found.
    other = words_in(client.get(f"/c/{checkout.code}?chain=base"))
    assert "Send only USDC on Base" in other


def test_asking_by_get_leads_to_the_page(client: Client) -> None:
    checkout = make_page_checkout()
    response = client.get(f"/c/{checkout.code}/find", {"tx": UNKNOWN})
    assert (response.status_code, response["Location"]) == (303, f"/c/{checkout.code}")
    assert BuyerReport.objects.count() == 0


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none"])
def test_another_site_s_form_finds_nothing(site: str, client: Client) -> None:
    checkout = make_page_checkout()
    response = ask(client, checkout, UNKNOWN, **{"Sec-Fetch-Site": site})
    assert response["Location"] == f"/c/{checkout.code}"
    assert BuyerReport.objects.count() == 0


def test_an_unknown_code_is_a_404(client: Client) -> None:
    assert client.post("/c/nnnnnn/find", {"tx": UNKNOWN}).status_code == 404


def test_no_cookie_is_set(client: Client) -> None:
    checkout = make_page_checkout()
    client.get(ask(client, checkout, UNKNOWN)["Location"])
    assert not client.cookies


def test_a_reload_asks_nothing(client: Client, django_assert_num_queries: Callable[[int], Any]) -> None:
    checkout = make_seen()
    where = ask(client, checkout, Transfer.objects.get().tx_hash)["Location"]
    looked_at = BuyerReport.objects.get().looked_at
    with django_assert_num_queries(4):
        client.get(where)
    assert BuyerReport.objects.get().looked_at == looked_at


def test_an_open_answer_may_be_asked_for_again_and_moves_with_it(client: Client, time_machine: Any) -> None:
    checkout = make_page_checkout()
    now = timezone.now()
    time_machine.move_to(now, tick=False)
    ask(client, checkout, UNKNOWN)
    time_machine.move_to(now + timedelta(seconds=4), tick=False)
    ask(client, checkout, UNKNOWN)
    assert BuyerReport.objects.get().looked_at == now
    paid = pay(checkout, confirmations=12, tx_hash=UNKNOWN)
    move(checkout, CheckoutStatus.COMPLETED)
    time_machine.move_to(now + timedelta(seconds=6), tick=False)
    assert "We received your payment" in answer(client, checkout, UNKNOWN)
    report = BuyerReport.objects.get()
    assert report.verdict == RescueVerdict.CREDITED
    assert report.looked_at == now + timedelta(seconds=6)
    assert report.reported_at == now
    assert paid.tx_hash == report.tx_hash


def test_a_closed_report_is_open_again_when_its_answer_changes(client: Client) -> None:
    checkout = make_page_checkout()
    ask(client, checkout, UNKNOWN)
    long_ago = timezone.now() - timedelta(hours=1)
    BuyerReport.objects.update(closed_at=long_ago, looked_at=long_ago)
    ask(client, checkout, UNKNOWN)
    assert BuyerReport.objects.get().closed_at == long_ago
    BuyerReport.objects.update(looked_at=long_ago)
    late = send(checkout, block_time=timezone.now(), tx_hash=UNKNOWN)
    move(checkout, CheckoutStatus.COMPLETED)
    to_inbox(checkout, InboxReason.EXTRA, late)
    ask(client, checkout, UNKNOWN)
    report = BuyerReport.objects.get()
    assert (report.verdict, report.closed_at) == (RescueVerdict.EXTRA, None)


def test_a_merchant_s_name_is_text(client: Client) -> None:
    merchant = make_merchant(name="<script>alert(1)</script>")
    checkout = make_expired(merchant=merchant)
    late = send(checkout, block_time=checkout.expires_at + timedelta(hours=1))
    to_inbox(checkout, InboxReason.LATE, late)
    words = answer(client, checkout, late.tx_hash)
    assert "<script" not in words
    assert "&lt;script" in words


# A text that is no hash of a transaction stays in its field, with what is wrong beside it.


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "hello",
        "0x9858EfFD232B4033E47d90003D41EC34EcaEda94",
        "\x00",
        "0x" + "5a" * 31 + "\x00",
        "<script>alert(1)</script>",
        "💸" * 64,
        "a" * 10_240,
        f"{UNKNOWN} 0x{'5b' * 32}",
    ],
)
def test_whatever_is_no_hash_is_answered_and_not_filed(text: str, client: Client) -> None:
    refused = ask(client, make_page_checkout(), text)
    words = words_in(refused)
    assert refused.status_code == 400
    assert "That doesn't look like a transaction hash." in words
    assert "<script>alert" not in words
    assert BuyerReport.objects.count() == 0


def test_a_post_without_a_field_is_no_hash(client: Client) -> None:
    response = client.post(f"/c/{make_page_checkout().code}/find")
    assert response.status_code == 400
    assert "That doesn't look like a transaction hash." in words_in(response)


@pytest.mark.parametrize("stage", STAGES)
def test_what_is_no_hash_stays_in_the_field_and_everything_else_on_the_page(stage: str, client: Client) -> None:
    checkout = STAGES[stage]()
    before = words_in(client.get(f"/c/{checkout.code}"))
    typed = 'apple "banana" cherry'
    refused = ask(client, checkout, typed)
    after = words_in(refused)
    assert refused.status_code == 400
    assert refused["Cache-Control"] == "no-store"
    assert "apple &quot;banana&quot; cherry" in after
    assert 'aria-invalid="true" aria-describedby="tx-problem"' in after
    assert 'id="answer"' not in after
    if stage == "expired":
        assert "<b>Already sent it?</b>" in before
        assert "<b>Already sent it?</b>" in after
    # It may be a secret: no address says it, and the page that polls from there stays as it is.
    address = f"/c/{checkout.code}?found=unreadable"
    assert f'data-address="{address}' in after
    status = client.get(address.replace("?", "/status?")).json()["panel"]
    assert "That doesn't look like a transaction hash." in status.replace("&#x27;", "'")
    assert "apple" not in status


def test_a_text_that_is_corrected_keeps_the_network_chosen(client: Client) -> None:
    checkout = make_page_checkout()
    filled = {"tx": "0x12", "chain": "polygon", "token": "USDT"}
    text = words_in(client.post(f"/c/{checkout.code}/find?lang=de", filled))
    assert 'name="token" value="USDT" checked' in text
    query = "found=unreadable&chain=polygon&token=USDT&lang=de"
    assert f'data-address="/c/{checkout.code}?{query}"' in text


def test_an_answer_that_names_no_network_leaves_the_one_that_was_chosen(client: Client) -> None:
    checkout = make_exact_choice()
    filled = {"tx": UNKNOWN, "chain": "tron", "token": "USDT"}
    shown = client.post(f"/c/{checkout.code}/find", filled)["Location"]
    assert shown == f"/c/{checkout.code}?found={UNKNOWN}&chain=tron&token=USDT"
    text = words_in(client.get(shown))
    assert "Don't pay again until you know." in text
    assert 'value="tron" checked' in text
    # Nor does the second search lose it: the form of the answer, and the one below it.
    assert text.count('type="hidden" name="chain" value="tron"') >= 2


def test_a_payment_that_is_found_shows_its_network_whatever_was_chosen(client: Client) -> None:
    checkout = make_underpaid()
    [transfer] = Transfer.objects.all()
    filled = {"tx": transfer.tx_hash, "chain": "polygon", "token": "USDT"}
    text = words_in(client.get(client.post(f"/c/{checkout.code}/find", filled)["Location"]))
    assert "29.00 USDC is still missing" in text
    assert 'value="base" checked' in text


@pytest.mark.usefixtures("still_window")
def test_who_searched_often_keeps_the_hash_and_reads_for_how_long_to_wait(client: Client) -> None:
    checkout, typed = make_page_checkout(), any_hash()
    filled = {"tx": typed, "chain": "polygon", "token": "USDT"}
    answers = [client.post(f"/c/{checkout.code}/find?lang=en", filled) for _ in range(6)]
    refused = answers[-1]
    assert (refused.status_code, refused["Cache-Control"]) == (429, "no-store")
    text, seconds = words_in(refused), refused["Retry-After"]
    assert f'Search again in <b class="number">{seconds}</b>' in text
    assert f'data-wait="{seconds}"' in text
    assert f'value="{typed}"' in text
    assert "open> <summary" in text
    assert 'value="polygon" checked' in text
    # No reload takes it away, and no address says it.
    assert 'http-equiv="refresh"' not in text
    assert f'data-address="/c/{checkout.code}?chain=polygon&token=USDT&lang=en"' in text


@pytest.mark.usefixtures("still_window")
def test_a_page_in_place_of_a_refusal_is_counted_as_a_page(client: Client) -> None:
    checkout = make_page_checkout()
    answers = [client.post(f"/c/{checkout.code}/find", {"tx": any_hash()}) for _ in range(5 + 1)]
    count_requests(58)
    answers += [client.post(f"/c/{checkout.code}/find", {"tx": any_hash()}) for _ in range(2)]
    shown = ["data-wait" in answer.content.decode() for answer in answers]
    assert shown == [False] * 5 + [True] * 2 + [False]
    assert {answer.status_code for answer in answers[5:]} == {429}


# A buyer who began again asks about a payment of another try: a wrong answer here makes people pay twice.


OTHER_ADDRESS = "0x9858EfFD232B4033E47d90003D41EC34EcaEda94"


def made_afresh(checkout: Checkout, **values: Any) -> Checkout:
    return make_page_checkout(
        checkout.merchant,
        creation_ref=f"again:{checkout.public_id}",
        offers={"base": {"tokens": ["USDC"], "address": OTHER_ADDRESS}},
        **values,
    )


@pytest.mark.parametrize("tries", [1, 2, 3])
def test_who_paid_too_late_and_began_again_is_told_on_the_page_that_was_paid(tries: int, client: Client) -> None:
    paid = make_expired()
    late = send(paid, block_time=paid.expires_at + timedelta(minutes=4))
    to_inbox(paid, InboxReason.LATE, late)
    asked = paid
    for _ in range(tries):
        move(asked, CheckoutStatus.EXPIRED)
        asked = made_afresh(asked)
    location = ask(client, asked, late.tx_hash)["Location"]
    assert location == f"/c/{paid.code}?found={late.tx_hash}"
    told = answer(client, asked, late.tx_hash)
    assert "Your 49.00 USDC on Base arrived 4 minutes after this checkout expired" in told
    assert "Don't pay again" in told
    assert BuyerReport.objects.get().checkout == paid


def test_who_began_again_and_paid_is_told_on_the_page_that_was_left(client: Client) -> None:
    left = make_expired()
    fresh = made_afresh(left)
    transfer = pay(fresh, confirmations=12)
    move(fresh, CheckoutStatus.COMPLETED)
    assert "We received your payment" in answer(client, left, transfer.tx_hash)
    assert BuyerReport.objects.get().checkout == fresh


def test_what_was_for_neither_try_is_told_on_the_page_where_it_was_asked(client: Client) -> None:
    asked = made_afresh(make_expired())
    location = ask(client, asked, UNKNOWN)["Location"]
    assert location == f"/c/{asked.code}?found={UNKNOWN}"
    assert BuyerReport.objects.get().checkout == asked


def test_no_order_ref_leads_to_another_merchant_s_or_another_mode_s_checkout(client: Client) -> None:
    for other in (make_expired(), make_expired(mode=Mode.TEST)):
        late = send(other, block_time=other.expires_at + timedelta(minutes=4))
        to_inbox(other, InboxReason.LATE, late)
        merchant = other.merchant if other.mode == Mode.TEST else make_merchant()
        asked = make_page_checkout(
            merchant,
            creation_ref=f"again:{other.public_id}",
            offers={"base": {"tokens": ["USDC"], "address": OTHER_ADDRESS}},
        )
        location = ask(client, asked, late.tx_hash)["Location"]
        assert location.startswith(f"/c/{asked.code}?")


def test_nobody_is_invited_to_pay_again_beside_an_answer_that_says_not_to(client: Client) -> None:
    checkout = make_expired(merchant=make_merchant(buyers_may_retry=True))
    late = send(checkout, block_time=checkout.expires_at + timedelta(minutes=4))
    item = to_inbox(checkout, InboxReason.LATE, late)
    told = ask(client, checkout, late.tx_hash)["Location"]
    # Without the inbox, which has the same to say, the answer alone decides.
    item.delete()
    page = words_in(client.get(told))
    assert "Don't pay again" in page
    assert "Start again" not in page
    assert "No payment arrived" not in page
    # What was not for this checkout keeps nobody from it.
    page = words_in(ask(client, checkout, "no hash"))
    assert "Start again" in page


@pytest.mark.parametrize("reason", [InboxReason.LATE, InboxReason.LATE_OUTAGE])
def test_nobody_begins_again_whose_money_waits_for_the_merchant(reason: InboxReason, client: Client) -> None:
    checkout = make_expired(merchant=make_merchant(buyers_may_retry=True))
    of_link = make_expired(again_url="https://pay.example/l/code")
    assert "Start again" in words_in(client.get(f"/c/{checkout.code}"))
    items = [to_inbox(each, reason, send(each)) for each in (checkout, of_link)]
    for each in (checkout, of_link):
        page = words_in(client.get(f"/c/{each.code}"))
        assert "Start again" not in page
        assert "has been told and will look at it" in page
    again = client.post(f"/c/{checkout.code}/again")
    assert again["Location"] == f"/c/{checkout.code}"
    for item in items:
        item.status = InboxStatus.REFUNDED
        item.save()
    for each in (checkout, of_link):
        assert "Start again" in words_in(client.get(f"/c/{each.code}"))
