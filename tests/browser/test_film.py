"""A buyer with a phone, from the sheet of wallet apps to "Payment complete", on each chain; an exhaustive run films it.

No app is started: its link is answered with nothing, and the page that it would open is opened with a wallet in it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from checkouts.models import Checkout
from checkouts.states import CheckoutStatus
from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.solana.node import SolanaNode
from localnet.ton.node import TonNode
from localnet.tron import TRON_CHAIN_ID, TronNode
from tests.browser.conftest import GUIDED, StubWallet
from tests.browser.film import Film
from tests.browser.injected import StubSolanaWallet, StubTonWallet, solana_buyer, ton_buyer, tron_wallet
from tests.browser.test_wallet_apps import opened_by_a_tap
from tests.chains import connect
from tests.checkouts.page.buyers import ACCOUNT, BUYER
from tests.checkouts.shop import Shop
from wallets.networks import chain_spec

# Settings outlive the pages, which ask the server until they are closed.
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("settings")]

SENT = "Sent. Waiting for the network…"
# The wallet's owner reads what it asks, until the test lets go.
HOLD = """() => {
  const ask = window.__wallet;
  const held = new Promise((letGo) => { window.letGo = letGo; });
  window.__wallet = (request) => held.then(() => ask(request));
}"""


@dataclass(frozen=True)
class Stage:
    """A shop on a chain, and a buyer's wallet there. `go_on` lets the chain make blocks until what was sent is final."""

    shop: Shop
    wallet: StubWallet
    go_on: Callable[[], object]


def on_evm(chain: str, request: pytest.FixtureRequest) -> Stage:
    node: Anvil = request.getfixturevalue(f"{chain}_node")
    connect(request.getfixturevalue("settings"), **{chain: node.url})
    shop = Shop(chain, node.accounts[7].address)
    request.addfinalizer(shop.watcher.close)

    def agree(method: str, params: list[Any]) -> Any:
        told = node.call(method, params)
        node.await_blocks()
        return told

    wallet = StubWallet(payer(node).address, node.chain_id, agree)
    return Stage(shop, wallet, lambda: node.mine(chain_spec(chain).confirmations))


def on_solana(chain: str, request: pytest.FixtureRequest) -> Stage:
    del chain
    node: SolanaNode = request.getfixturevalue("solana_node")
    shop: Shop = request.getfixturevalue("solana_shop")
    settings = request.getfixturevalue("settings")
    settings.CHAIN_SETTINGS = settings.CHAIN_SETTINGS | {"SOLANA_REQUESTS_PER_MINUTE": "100000"}
    node.advance(2)
    return Stage(shop, StubSolanaWallet(ACCOUNT, 0, solana_buyer(node, BUYER)), lambda: node.advance(2))


def on_tron(chain: str, request: pytest.FixtureRequest) -> Stage:
    node: TronNode = request.getfixturevalue("tron_node")
    shop: Shop = request.getfixturevalue("tron_shop")
    wallet = tron_wallet(payer(node.anvil), TRON_CHAIN_ID)
    return Stage(shop, wallet, lambda: node.mine(chain_spec(chain).confirmations))


def on_ton(chain: str, request: pytest.FixtureRequest) -> Stage:
    node: TonNode = request.getfixturevalue("ton_node")
    shop: Shop = request.getfixturevalue("ton_shop")
    wallet = StubTonWallet(node.payer.address, 0, ton_buyer(node, declines=False))
    return Stage(shop, wallet, lambda: node.advance(chain_spec(chain).confirmations))


STAGES = {"base": on_evm, "polygon": on_evm, "ethereum": on_evm, "solana": on_solana, "tron": on_tron, "ton": on_ton}


@pytest.mark.parametrize("chain", STAGES)
def test_a_buyer_with_a_phone_pays_from_the_sheet_of_apps_to_the_end(
    chain: str, open_phone: Callable[..., Page], request: pytest.FixtureRequest
) -> None:
    stage = STAGES[chain](chain, request)
    checkout = stage.shop.checkout()
    page = open_phone(checkout, f"?chain={chain}")
    film = Film(page, chain)
    if checkout.offers[chain]["address"] is None:
        choice = page.get_by_role("button", name="Show the exact amount")
        film.take("exact amount", choice)
        choice.tap()
    apps = page.locator("#apps")
    expect(apps.get_by_text("is a local test network here.")).to_be_visible()
    page.wait_for_load_state()
    page.evaluate(GUIDED)
    film.take("wallet apps", apps)
    link = apps.locator("ol [data-app][href^='https:']").first
    assert opened_by_a_tap(page, link).startswith("https://")
    film.take("tapped", link)

    film.page = inside = open_phone(checkout, page.url.partition(checkout.code)[2])
    stage.wallet.install(inside)
    inside.reload()
    button = inside.get_by_role("button", name="Pay with Test Wallet")
    expect(button).to_be_visible()
    expect(inside.locator("#apps")).to_be_hidden()
    film.take("in the wallet", button)
    inside.evaluate(HOLD)
    button.tap()
    expect(inside.get_by_text("Confirm in your wallet…")).to_be_visible()
    film.take("confirm", button)
    inside.evaluate("window.letGo()")
    expect(inside.get_by_text(SENT)).to_be_visible()
    film.take("sent", button)

    wanted = chain_spec(chain).confirmations
    if wanted > 1:
        stage.shop.watch()
        assert Checkout.objects.get(pk=checkout.pk).status == CheckoutStatus.PROCESSING
        seen = inside.get_by_text(f"of {wanted} confirmations")
        expect(seen).to_be_visible()
        film.take("seen", seen)
    stage.go_on()
    stage.shop.watch()
    paid = inside.get_by_role("heading", name="Payment complete")
    expect(paid).to_be_visible()
    film.take("paid", paid)
    film.join()
    checkout.refresh_from_db()
    assert checkout.status == CheckoutStatus.COMPLETED
