"""Wallet apps on the page as it is sent: which, in what order, as what links; and the code of the page's own address."""

import re
from collections.abc import Callable
from html import unescape
from html.parser import HTMLParser
from typing import Any

import pytest
from django.test import Client

from checkouts.models import Checkout
from checkouts.page.qr import qr_svg
from tests.checkouts.factories import (
    make_completed,
    make_exact_checkout,
    make_exact_choice,
    make_expired,
    make_page_checkout,
    make_test_checkout,
)
from tests.contract.provoking import count_requests
from wallets.chains.wallet_apps import APPS

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("chains_are_well")]

FIRST = {
    "base": ["base", "metamask", "trust"],
    "polygon": ["metamask", "trust", "phantom"],
    "ethereum": ["metamask", "trust", "base"],
    "solana": ["phantom", "solflare", "backpack"],
    "ton": ["tonkeeper", "mytonwallet"],
    "tron": ["tronlink", "trust", "bitget"],
}
FOLDED = {"base": 4, "polygon": 4, "ethereum": 4, "solana": 1, "ton": 0, "tron": 0}


class Sheet(HTMLParser):
    """The links into apps of a page: those that are shown, and those that are folded."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.shown: list[dict[str, str | None]] = []
        self.folded: list[dict[str, str | None]] = []
        self._is_folded = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a link's attributes."""
        given = dict(attrs)
        self._is_folded = self._is_folded or given.get("class") == "apps-more"
        if "data-app" in given:
            (self.folded if self._is_folded else self.shown).append(given)

    def handle_endtag(self, tag: str) -> None:
        """Leave the fold."""
        self._is_folded = self._is_folded and tag != "details"


def text_of(client: Client, checkout: Checkout, query: str = "") -> str:
    answer = client.get(f"/c/{checkout.code}{query}")
    assert answer.status_code == 200
    text: str = answer.content.decode()
    return text


def sheet_of(client: Client, checkout: Checkout, query: str = "") -> Sheet:
    return Sheet(text_of(client, checkout, query))


@pytest.mark.parametrize("chain", FIRST)
def test_three_apps_are_shown_and_the_others_are_folded(chain: str, client: Client) -> None:
    sheet = sheet_of(client, make_exact_choice(), f"?chain={chain}")
    assert [link["data-app"] for link in sheet.shown] == FIRST[chain]
    assert len(sheet.folded) == FOLDED[chain]


@pytest.mark.parametrize("chain", FIRST)
def test_web_addresses_open_beside_the_page_and_other_links_where_they_are(chain: str, client: Client) -> None:
    sheet = sheet_of(client, make_exact_choice(), f"?chain={chain}")
    for link in [*sheet.shown, *sheet.folded]:
        is_web = (link["href"] or "").startswith("https://")
        assert link.get("target") == ("_blank" if is_web else None)
        assert link["rel"] == "noreferrer noopener"


@pytest.mark.parametrize("chain", FIRST)
def test_no_link_of_the_page_leaves_wallet_and_token_to_the_phone(chain: str, client: Client) -> None:
    text = text_of(client, make_exact_choice(), f"?chain={chain}")
    links = [unescape(link) for link in re.findall(r'href="([^"]*)"', text)]
    assert len(links) > 5
    assert not any(link.startswith(("ethereum:", "tron:", "ton:")) for link in links)


@pytest.mark.parametrize("chain", FIRST)
def test_apps_cost_nothing_from_another_host(chain: str, client: Client) -> None:
    text = text_of(client, make_exact_choice(), f"?chain={chain}")
    loaded = re.findall(r'\bsrc="([^"]*)"|<link\b[^>]*?\bhref="([^"]*)"|<use href="([^"]*)"', text)
    addresses = [address for found in loaded for address in found if address]
    assert len(addresses) > 10
    assert not [address for address in addresses if not address.startswith("/") or address.startswith("//")]


def test_the_page_that_an_app_opens_has_the_buyers_token_and_language(client: Client) -> None:
    sheet = sheet_of(client, make_page_checkout(), "?chain=polygon&token=USDT&lang=de")
    metamask = next(link for link in sheet.shown if link["data-app"] == "metamask")
    assert (metamask["href"] or "").endswith("?chain=polygon&token=USDT&lang=de")


def test_a_second_try_goes_another_way_only_where_there_is_one(client: Client) -> None:
    sheet = sheet_of(client, make_exact_choice(), "?chain=tron")
    again = {link["data-app"]: link.get("data-again") for link in sheet.shown}
    assert again["tronlink"] is None
    assert (again["trust"] or "").startswith("trust://open_url?coin_id=195&url=http")
    on_solana = sheet_of(client, make_exact_choice(), "?chain=solana").shown
    assert [link["data-app"] for link in on_solana if "data-intent" in link] == ["phantom"]


@pytest.mark.parametrize(
    ("chain", "says"), [("solana", "Opens this page in the app."), ("ton", "Opens the app with the payment filled in.")]
)
def test_the_sheet_says_what_a_button_does(chain: str, says: str, client: Client) -> None:
    text = text_of(client, make_exact_choice(), f"?chain={chain}")
    assert says in text
    assert ("Open in your browser" in text) is (chain != "ton")


def test_the_app_that_the_phone_picks_is_named_so_in_every_language(client: Client) -> None:
    checkout = make_exact_choice()
    assert "Open Another" not in text_of(client, checkout, "?chain=solana")
    assert "Another Solana wallet" in text_of(client, checkout, "?chain=solana")
    assert "Eine andere Solana-Wallet" in text_of(client, checkout, "?chain=solana&lang=de")


@pytest.mark.parametrize("chain", ["base", "ton"])
def test_on_a_local_network_the_apps_are_there_and_said_not_to_know_it(
    chain: str, client: Client, settings: Any
) -> None:
    checkout = make_exact_choice()
    settings.CHAIN_NETWORK = "local"
    text = text_of(client, checkout, f"?chain={chain}")
    assert [link["data-app"] for link in Sheet(text).shown] == FIRST[chain]
    assert "is a local test network here." in text
    assert "Opens this page in the app." not in text


@pytest.mark.parametrize("make", [make_test_checkout, make_completed, make_expired])
def test_there_are_none_where_nothing_can_be_paid(make: Callable[[], Checkout], client: Client) -> None:
    text = text_of(client, make())
    assert Sheet(text).shown == []
    assert 'class="phone"' not in text
    assert 'id="by-hand"' not in text


def test_there_are_none_before_the_exact_amount_is_asked_for(client: Client) -> None:
    assert sheet_of(client, make_exact_checkout(), "?chain=tron").shown == []


def test_an_operator_chooses_the_apps(client: Client, settings: Any) -> None:
    settings.WALLET_LINKS = ["okx", "rainbow", "tronlink", "bitget", "base"]
    sheet = sheet_of(client, make_page_checkout())
    assert [link["data-app"] for link in sheet.shown] == ["okx", "rainbow", "bitget"]
    assert [link["data-app"] for link in sheet.folded] == ["base"]


def test_an_operator_can_offer_none_and_the_page_stays_payable(client: Client, settings: Any) -> None:
    settings.WALLET_LINKS = []
    text = text_of(client, make_page_checkout())
    assert Sheet(text).shown == []
    assert 'id="by-hand"' not in text
    assert 'id="copy-address"' in text
    assert 'class="phone"' in text


def test_what_a_merchant_writes_breaks_out_of_no_link(client: Client) -> None:
    checkout = make_exact_choice(description='"><script>alert(1)</script>&#x27; javascript:alert(2)')
    for chain in FIRST:
        text = text_of(client, checkout, f"?chain={chain}")
        assert "<script>alert" not in text
        sheet = Sheet(text)
        assert {link["data-app"] for link in [*sheet.shown, *sheet.folded]} <= {app.key for app in APPS}


# The code of the page itself, for the buyer's phone.


def test_the_code_for_a_phone_holds_the_pages_address_with_the_choice(client: Client, settings: Any) -> None:
    checkout = make_page_checkout()
    text = text_of(client, checkout, "?chain=polygon&token=USDT&lang=fr")
    [address] = [unescape(found) for found in re.findall(r'src="(/c/[^"]+)"', text)]
    assert address == f"/c/{checkout.code}/qr?chain=polygon&token=USDT&lang=fr"
    answer = client.get(address)
    assert (answer.status_code, answer["Content-Type"]) == (200, "image/svg+xml")
    assert answer["Cache-Control"] == "no-store"
    page = f"{settings.CHECKOUT_HOST}/c/{checkout.code}?chain=polygon&token=USDT&lang=fr"
    assert answer.content == qr_svg(page)


@pytest.mark.parametrize("query", ["?chain=nowhere&token=DOGE", "?chain=base&token=<b>&x=1", ""])
def test_the_code_holds_nothing_that_only_the_question_says(query: str, client: Client, settings: Any) -> None:
    checkout = make_page_checkout()
    answer = client.get(f"/c/{checkout.code}/qr{query}")
    assert answer.content == qr_svg(f"{settings.CHECKOUT_HOST}/c/{checkout.code}?chain=base&token=USDC")


@pytest.mark.parametrize("make", [make_completed, make_expired])
def test_there_is_no_code_where_nothing_can_be_paid(make: Callable[[], Checkout], client: Client) -> None:
    assert client.get(f"/c/{make().code}/qr").status_code == 404
    assert client.get("/c/none/qr").status_code == 404


@pytest.mark.usefixtures("still_window")
def test_codes_count_as_visits_of_the_page(client: Client) -> None:
    path = f"/c/{make_page_checkout().code}"
    assert client.get(f"{path}/qr", REMOTE_ADDR="192.0.2.9").status_code == 200
    count_requests(59)
    assert client.get(path, REMOTE_ADDR="192.0.2.9").status_code == 429
    assert client.get(f"{path}/qr", REMOTE_ADDR="192.0.2.9").status_code == 429
