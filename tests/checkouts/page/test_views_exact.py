"""Choosing an exact-amount network over HTTP, and what the page says when it cannot be had."""

import re
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from django.test import Client, RequestFactory
from django.utils import timezone

from accounts.models import Merchant
from checkouts.models import AmountReservation, Checkout
from checkouts.page.limits import count_exact_choice
from checkouts.states import CheckoutException, CheckoutStatus
from gateway.core.money import format_usd
from tests.cases import case
from tests.catalogues import LOOKED_AT
from tests.checkouts.arrivals import SUFFIX, TOKENS, Till, exact
from tests.checkouts.crowds import make_holders
from tests.checkouts.factories import (
    ADDRESS,
    EXACT_OFFERS,
    OFFERS,
    make_closed,
    make_completed,
    make_exact_checkout,
    make_page_checkout,
    move,
    pay,
)
from tests.checkouts.page.test_views import page_of, words_in
from tests.checkouts.watcher import attribute
from tests.contract.provoking import count_requests
from tests.factories import NOON, make_live_chain, make_merchant
from tests.weight import MOST_BYTES, weights
from wallets.networks import chain_spec

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("chains_are_well")]


WALLET = EXACT_OFFERS["tron"]["wallet"]


def choose(client: Client, checkout: Checkout, chain: str, token: str = "", **headers: str) -> Any:
    form = {"chain": chain, "token": token}
    return client.post(f"/c/{checkout.code}/choose", form, headers=headers)


def chosen_page(client: Client, checkout: Checkout, chain: str) -> str:
    return words_in(client.get(choose(client, checkout, chain).headers["Location"])).replace("&quot;", '"')


def test_choosing_reserves_and_leads_back_to_the_page(client: Client) -> None:
    checkout = make_exact_checkout()
    answer = choose(client, checkout, "tron", "USDT")
    assert (answer.status_code, answer.content) == (303, b"")
    assert answer["Location"] == f"/c/{checkout.code}?chain=tron&token=USDT"
    assert answer["Cache-Control"] == "no-store"
    held = AmountReservation.objects.get()
    digits = f"{held.suffix:04}".rstrip("0")
    text = words_in(client.get(answer["Location"]))
    assert f"49.00<mark>{digits}</mark><small>USDT</small>" in text
    assert f'data-copy="49.00{digits}"' in text
    assert f'data-copy="{WALLET}"' in text
    assert f"Send exactly 49.00{digits} USDT on Tron." in text
    assert "Add the fee on top" in text
    assert 'href="?chain=base&token=USDC"' in text


@pytest.mark.parametrize("chain", EXACT_OFFERS)
def test_looking_reserves_nothing_and_shows_no_wallet(chain: str, client: Client) -> None:
    checkout = make_exact_checkout()
    query = f"?chain={chain}"
    text = page_of(client, checkout, query)
    assert "needs an exact amount." in text
    assert "Show the exact amount" in text
    for path in (f"/c/{checkout.code}{query}", f"/c/{checkout.code}/status{query}"):
        body = client.get(path).content.decode()
        assert EXACT_OFFERS[chain]["wallet"] not in body
    assert AmountReservation.objects.count() == 0


def test_after_one_choice_every_exact_network_shows_the_same_amount(client: Client) -> None:
    checkout = make_exact_checkout()
    choose(client, checkout, "ton")
    held = AmountReservation.objects.get()
    amount = f"49.00{held.suffix:04}".rstrip("0")
    for chain in EXACT_OFFERS:
        assert f'data-copy="{amount}"' in page_of(client, checkout, f"?chain={chain}")
    assert AmountReservation.objects.count() == 1


def test_ton_has_a_comment_to_copy_and_the_others_have_none(client: Client) -> None:
    checkout = make_exact_checkout()
    text = chosen_page(client, checkout, "ton")
    assert f'data-copy="{AmountReservation.objects.get().memo}"' in text
    assert "Scanning fills in address, amount and comment" in text
    for chain in ("solana", "tron", "ethereum", "base"):
        assert "Comment (memo)" not in page_of(client, checkout, f"?chain={chain}")


def test_codes_that_hold_only_the_address_say_that_the_amount_is_to_be_typed(client: Client) -> None:
    for chain in ("tron", "ethereum"):
        text = chosen_page(client, make_exact_checkout(), chain)
        held = AmountReservation.objects.latest("pk")
        amount = f"49.00{held.suffix:04}".rstrip("0")
        assert f"Enter <b>{amount} USD" in text
    text = page_of(client, make_page_checkout())
    assert "Scanning fills in the address only. Enter <b>49.00 USDC</b>" in text


def test_choosing_another_network_reserves_nothing(client: Client) -> None:
    checkout = make_exact_checkout()
    answer = choose(client, checkout, "polygon", "USDT")
    assert answer["Location"] == f"/c/{checkout.code}?chain=polygon&token=USDT"
    assert AmountReservation.objects.count() == 0


@pytest.mark.parametrize(
    ("chain", "token", "query"),
    [
        ("tron", "USDC", "?token=USDC"),
        ("base", "USDT", "?token=USDT"),
        ("base", "<script>", "?chain=base&token=USDC"),
        ("bitcoin", "USDC", ""),
        ("", "", ""),
        # A form names no network while the chosen one is disabled.
        ("", "USDT", "?token=USDT"),
        ("", "DAI", ""),
        ("tron&x=\x00", "", ""),
        ("//evil.example", "", ""),
    ],
)
def test_a_choice_that_was_not_offered_leads_to_the_page_all_the_same(
    chain: str, token: str, query: str, client: Client
) -> None:
    checkout = make_exact_checkout()
    answer = choose(client, checkout, chain, token)
    assert answer["Location"] == f"/c/{checkout.code}{query}"


def test_another_token_leads_to_a_network_that_takes_it_and_reserves_nothing(client: Client) -> None:
    checkout = make_page_checkout(offers={"base": OFFERS["base"], "tron": EXACT_OFFERS["tron"]})
    answer = choose(client, checkout, "base", "USDT")
    text = words_in(client.get(answer["Location"]))
    assert 'value="USDT" checked' in text
    assert 'value="tron" checked' in text
    assert "Tron needs an exact amount." in text
    assert AmountReservation.objects.count() == 0


def test_the_cards_say_what_a_payment_costs_and_nothing_of_digits(client: Client) -> None:
    make_live_chain("base", base_fee=2 * 10**9)
    text = page_of(client, make_exact_checkout())
    # 65,000 gas at 2.002 gwei and 4,000 dollars.
    assert "fee about $0.50" in text
    assert "fee below $0.01" in text
    for chain in ("base", "polygon", "solana", "ethereum"):
        assert f"~{chain_spec(chain).estimated_confirm_seconds} s" in text
    assert "Exact amount" not in text


def test_who_pays_from_an_exchange_is_led_to_networks_that_forgive_it(client: Client) -> None:
    text = page_of(client, make_exact_checkout(), "?chain=tron&lang=en")
    assert "I pay from an exchange" in text
    # Each keeps the token that Tron is paid in, if it takes that one.
    for chain, token in (("base", "USDC"), ("polygon", "USDT")):
        assert f'<a class="link" href="?chain={chain}&token={token}&lang=en">' in text
    assert "every digit of the amount counts" in page_of(client, make_page_checkout(offers=EXACT_OFFERS))
    assert "I pay from an exchange" not in page_of(client, make_page_checkout())


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_other_sites_cannot_choose_for_a_buyer(site: str, client: Client) -> None:
    checkout = make_exact_checkout()
    answer = choose(client, checkout, "tron", **{"Sec-Fetch-Site": site})
    assert answer.status_code == 303
    assert AmountReservation.objects.count() == 0
    choose(client, checkout, "tron", **{"Sec-Fetch-Site": "same-origin"})
    assert AmountReservation.objects.count() == 1


@pytest.mark.parametrize("make", [make_closed, make_completed])
def test_nothing_is_reserved_when_no_money_is_taken(make: Callable[..., Checkout], client: Client) -> None:
    checkout = make(offers=OFFERS | EXACT_OFFERS)
    text = chosen_page(client, checkout, "tron")
    assert AmountReservation.objects.count() == 0
    assert WALLET not in text


def test_a_reserved_amount_goes_with_the_time_to_pay(client: Client) -> None:
    checkout = make_exact_checkout()
    choose(client, checkout, "tron")
    assert WALLET in page_of(client, checkout, "?chain=tron")
    Checkout.objects.update(expires_at=timezone.now())
    for path in ("?chain=tron", "/status?chain=tron"):
        assert WALLET not in client.get(f"/c/{checkout.code}{path}").content.decode()


def test_a_choice_is_only_posted_and_only_for_a_page_there_is(client: Client) -> None:
    checkout = make_exact_checkout()
    asked = client.get(f"/c/{checkout.code}/choose?chain=tron")
    assert (asked.status_code, asked["Location"]) == (303, f"/c/{checkout.code}")
    assert not AmountReservation.objects.exists()
    assert client.post("/c/nnnnnn/choose", {"chain": "tron"}).status_code == 404


def test_choices_are_limited_by_code_and_client(client: Client, time_machine: Any) -> None:
    time_machine.move_to(timezone.now().replace(second=30), tick=False)
    checkout = make_exact_checkout()
    assert choose(client, checkout, "tron").status_code == 303
    count_requests(58)
    assert [choose(client, checkout, "tron").status_code for _ in range(2)] == [303, 429]
    refused = choose(client, checkout, "tron")
    assert refused["Retry-After"] == "30"
    assert "Wait 30 seconds" in words_in(refused)
    assert choose(client, make_exact_checkout(), "tron").status_code == 303


def test_an_exhausted_price_is_told_on_the_cards_and_others_are_offered(client: Client) -> None:
    checkout = make_exact_checkout()
    make_holders(checkout.merchant, range(1, 10_000), price=checkout.amount)
    text = chosen_page(client, checkout, "tron")
    price = format_usd(checkout.amount)
    assert f"Every exact amount for ${price} is in use." in text
    assert text.count("No amount available") == 3
    assert text.count("disabled") == 3
    assert "Pay on Base instead" in text
    assert "Show the exact amount" not in text
    assert ADDRESS in page_of(client, checkout)


def test_where_none_was_reserved_a_short_payment_shows_the_new_exact_amount_after_asking(client: Client) -> None:
    checkout = make_exact_checkout()
    choose(client, checkout, "tron")
    pay(checkout, 20_000_000, confirmations=12, chain="tron", token="USDT")
    move(checkout, CheckoutStatus.UNDERPAID, exception=CheckoutException.UNDERPAID)
    text = page_of(client, checkout)
    assert "Show the exact amount" in text
    assert "new exact amount" in text
    text = chosen_page(client, checkout, "tron")
    assert "29.00<mark>" in text
    assert AmountReservation.objects.count() == 2


@pytest.mark.parametrize("chain", EXACT_OFFERS)
def test_a_short_payment_is_asked_for_the_rest_at_once_and_on_every_network(chain: str, client: Client) -> None:
    now, till = timezone.now(), Till(chains=tuple(EXACT_OFFERS))
    checkout = till.checkout(suffix=SUFFIX, chains=tuple(EXACT_OFFERS), created_at=now)
    till.sees(exact(checkout) - 5_000_000, chain=chain, token=TOKENS[chain][0], at=now)
    attribute(now=now)
    rest = AmountReservation.objects.get(price=5)
    amount = f"5.00{rest.suffix:04}".rstrip("0")
    # The network that was paid on, without another choice.
    text = page_of(client, checkout)
    assert f"Send exactly {amount} {TOKENS[chain][0]} on {chain_spec(chain).title}." in text
    # Not the round rest, which would name nobody.
    assert f"Part of your payment arrived. <b>{amount} {TOKENS[chain][0]}</b> is missing." in text
    for other in EXACT_OFFERS:
        shown = page_of(client, checkout, f"?chain={other}")
        assert f"{amount} {TOKENS[other][0]} left to pay" in shown
        assert not re.search(r"\b5\.00 USD", shown)
        assert f'data-copy="{amount}"' in shown
        assert "25.0037" not in shown
        assert "Show the exact amount" not in shown


def test_the_rest_of_a_payment_on_tron_is_not_asked_for_at_the_same_address_on_another_network(client: Client) -> None:
    checkout = make_exact_checkout()
    choose(client, checkout, "tron")
    pay(checkout, 20_000_000, confirmations=12, chain="tron", token="USDT")
    move(checkout, CheckoutStatus.UNDERPAID, exception=CheckoutException.UNDERPAID)
    text = page_of(client, checkout, "?chain=base")
    assert "Send only USDC on Base." in text
    # Said by the page, and by its heading.
    assert text.count("Part of the payment arrived. 29.00 USDC left to pay.") == 2
    assert "same address" not in text
    assert "29.00 USDT" not in text


@pytest.mark.parametrize(
    ("trouble", "card", "words", "never"),
    [
        (
            {"halted_reason": "two nodes disagree"},
            "Stopped, being checked",
            "Tron contradicts what it told us.",
            "is lost",
        ),
        ({"head_at": NOON, "due_at": None}, "Not answering now", "Tron is not answering.", "contradicts"),
    ],
)
def test_a_network_that_is_down_shows_no_address_and_says_why(
    client: Client, trouble: dict[str, Any], card: str, words: str, never: str
) -> None:
    checkout = make_exact_checkout()
    choose(client, checkout, "tron")
    make_live_chain("tron", **trouble)
    text = page_of(client, checkout, "?chain=tron")
    assert words in text
    assert text.count(card) == 1
    assert never not in text
    assert WALLET not in text
    assert "Pay on Base instead" in text


def test_a_network_that_is_behind_is_marked(client: Client) -> None:
    checkout = make_exact_checkout()
    make_live_chain("base", height=10, head=99)
    text = page_of(client, checkout)
    assert text.count("Slower than usual") == 1
    assert "Base is delayed." in text
    assert ADDRESS in text


@pytest.mark.parametrize(
    "trouble", [{"height": 10, "head": 99}, {"disagreeing_since": NOON}], ids=["delayed", "disagreeing"]
)
def test_who_has_paid_nothing_yet_is_not_told_to_wait(client: Client, trouble: dict[str, Any]) -> None:
    checkout = make_exact_checkout()
    make_live_chain("base", **trouble)
    wait, unseen = "<b>Please wait, and don't pay again.</b>", "<b>Already paid? This page updates automatically.</b>"
    text = page_of(client, checkout, "?chain=base")
    assert (wait in text, unseen in text) == (False, True)
    pay(checkout, 20_000_000, confirmations=12)
    move(checkout, CheckoutStatus.UNDERPAID, exception=CheckoutException.UNDERPAID)
    make_live_chain("base", **trouble)
    text = page_of(client, checkout, "?chain=base")
    assert (wait in text, unseen in text) == (True, False)


def test_a_page_open_when_a_network_goes_down_is_told(client: Client) -> None:
    checkout = make_exact_checkout()
    path = f"/c/{checkout.code}/status"
    etag = client.get(path)["ETag"]
    make_live_chain("base", head_at=NOON, due_at=None)
    down = client.get(path, headers={"If-None-Match": etag})
    assert "Not answering now" in down.json()["panel"]
    make_live_chain("base", halted_reason="two nodes disagree")
    panel = client.get(path, headers={"If-None-Match": down["ETag"]}).json()["panel"]
    assert "Stopped, being checked" in panel
    chosen = client.get(f"{path}?chain=base").json()["panel"]
    assert ADDRESS not in chosen


@pytest.fixture
def still_page(monkeypatch: pytest.MonkeyPatch, time_machine: Any) -> None:
    """No code, amount or time of a page differs from run to run: with other ones it compresses to a hundred bytes more or less."""
    monkeypatch.setattr("secrets.token_bytes", lambda size: Random(7).randbytes(size))
    monkeypatch.setattr("secrets.choice", min)
    time_machine.move_to(NOON, tick=False)


@pytest.mark.parametrize("chain", EXACT_OFFERS)
def test_pages_of_exact_networks_weigh_at_most_eighteen_kilobytes(chain: str, client: Client, still_page: None) -> None:
    chosen = choose(client, make_exact_checkout(), chain).headers["Location"]
    for language in LOOKED_AT:
        with case(language):
            weighed = weights(client, f"{chosen}&lang={language}")
            assert sum(weighed.values()) <= MOST_BYTES, weighed


def test_no_reference_of_a_payment_is_in_the_page_but_in_its_code(client: Client) -> None:
    text = chosen_page(client, make_exact_checkout(), "tron")
    held = AmountReservation.objects.get()
    assert held.memo not in text
    assert not re.search(bytes(held.reference).hex(), text)


# Nobody may take all the good digits of a price: how many exact amounts one client may reserve of a merchant's.


def status_of_choice(client: Client, checkout: Checkout, chain: str = "tron", **options: Any) -> int:
    """The status that a choice is answered with."""
    answer = client.post(f"/c/{checkout.code}/choose", {"chain": chain}, **options)
    return int(answer.status_code)


def test_twenty_checkouts_a_minute_get_their_amounts_and_the_next_one_waits(
    client: Client, merchant: Merchant, time_machine: Any
) -> None:
    now = timezone.now().replace(minute=10, second=30)
    time_machine.move_to(now, tick=False)
    checkouts = [make_exact_checkout(merchant=merchant) for _ in range(21)]
    statuses = [status_of_choice(client, checkout) for checkout in checkouts]
    assert statuses == [303] * 20 + [429]
    assert AmountReservation.objects.count() == 20
    assert status_of_choice(client, checkouts[0]) == 303
    assert status_of_choice(client, checkouts[-1], chain="base") == 303
    assert status_of_choice(client, checkouts[-1], REMOTE_ADDR="192.0.2.9") == 303
    assert status_of_choice(client, make_exact_checkout(merchant=make_merchant())) == 303
    time_machine.shift(60)
    assert status_of_choice(client, make_exact_checkout(merchant=merchant)) == 303


def test_a_hundred_an_hour_get_their_amounts(
    client: Client, merchant: Merchant, rf: RequestFactory, time_machine: Any
) -> None:
    time_machine.move_to(timezone.now().replace(minute=0, second=1), tick=False)
    for count in range(99):
        if count and count % 20 == 0:
            time_machine.shift(60)
        count_exact_choice(rf.post("/"), merchant.pk)
    time_machine.shift(60)
    last = [make_exact_checkout(merchant=merchant) for _ in range(2)]
    assert [status_of_choice(client, checkout) for checkout in last] == [303, 429]


def test_who_goes_back_and_forth_on_one_page_takes_one_amount_and_is_counted_once(
    client: Client, merchant: Merchant
) -> None:
    first = make_exact_checkout(merchant=merchant)
    chains = ["tron", "ton", "solana", "ethereum"] * 10
    assert {status_of_choice(client, first, chain) for chain in chains} == {303}
    others = [make_exact_checkout(merchant=merchant) for _ in range(19)]
    assert {status_of_choice(client, checkout) for checkout in others} == {303}
