"""`GET /transactions/{tx_hash}` of what our records do not have: real nodes are asked, and nothing is written."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.states import Mode
from checkouts.attribution.queue import attribute_transfers
from checkouts.models import Checkout
from demo.nodes.factory import prepare_chain
from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.tokens import FAKE, deploy_token, mint, token_address, transfer
from tests.contract.client import ApiClient, client_of
from tests.factories import make_checkout
from tests.wallets.factories import TOKENS, make_watcher, read_all
from wallets.models import ChainCursor, SourceDifference, Transfer
from wallets.selectors import forget

pytestmark = pytest.mark.django_db

UNITS = 25_000_000
UNKNOWN = "0x" + "5a" * 32
STRANGER = "0x00000000000000000000000000000000000a11ce"


def connect(settings: Any, **urls: str) -> None:
    """Use these nodes, and no others; the local chains' tokens are the test tokens."""
    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = {
        f"{chain.upper()}_TOKEN_{key}": token_address(symbol)
        for chain, known in TOKENS.items()
        for key, symbol in known.items()
    } | {f"{chain.upper()}_RPC_URLS": url for chain, url in urls.items()}
    ChainCursor.objects.all().delete()
    forget()


@pytest.fixture
def base(base_node: Anvil, settings: Any) -> Anvil:
    """Base, with the tokens on it, as the only chain that can be asked."""
    prepare_chain(base_node)
    connect(settings, base=base_node.url)
    return base_node


def fresh_checkout(client: ApiClient) -> Checkout:
    return make_checkout(client.merchant, created_at=timezone.now() - timedelta(minutes=1))


def address_of(checkout: Checkout) -> str:
    return str(checkout.offers["base"]["address"])


def pay(node: Anvil, to: str) -> str:
    sent = transfer(node, payer(node), token_address("USDC"), to, UNITS)
    node.receipt(sent)
    return sent


def told(client: ApiClient, tx_hash: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The transaction and its one movement, as nodes tell them."""
    answer = client.get(f"/transactions/{tx_hash}")
    assert answer.status == 200, answer.body
    assert answer.body["source"] == "nodes"
    [found] = answer.body["transactions"]
    [movement] = found["movements"]
    return found, movement


def test_money_that_no_watcher_has_read_is_unread_until_it_is_recorded(base: Anvil, shop: ApiClient) -> None:
    checkout = fresh_checkout(shop)
    sent = pay(base, address_of(checkout))
    found, movement = told(shop, sent)
    assert (found["chain"], found["tx_hash"], found["status"]) == ("base", sent, "mined")
    assert (movement["outcome"], movement["amount"], movement["token"]) == ("unread", "25.000000", "USDC")
    assert (movement["id"], movement["status"]) == (None, None)
    assert movement["recipient_address"] == address_of(checkout)
    base.mine(5)
    read_all(make_watcher(base.url))
    attribute_transfers(now=timezone.now())
    recorded = shop.get(f"/transactions/{sent}").body
    assert recorded["source"] == "records"
    assert recorded["transactions"][0]["movements"][0]["checkout_id"] == checkout.public_id


def test_another_merchants_address_is_as_strange_as_anybodys(base: Anvil, shop: ApiClient) -> None:
    theirs = fresh_checkout(client_of(mode=Mode.LIVE))
    said = [told(shop, pay(base, to))[1] for to in (STRANGER, address_of(theirs))]
    for movement in said:
        assert movement["outcome"] == "elsewhere"
        movement.pop("recipient_address")
        movement.pop("tx_hash")
    assert said[0] == said[1]


def test_a_token_that_nobody_lists_has_neither_name_nor_amount(base: Anvil, shop: ApiClient) -> None:
    fake = deploy_token(base, "USDC", salt=FAKE)
    _, movement = told(shop, mint(base, fake, address_of(fresh_checkout(shop)), UNITS))
    assert (movement["outcome"], movement["token"], movement["amount"]) == ("unsupported", None, None)
    assert movement["token_address"].lower() == fake.lower()


def test_what_no_node_knows_is_not_found_and_what_one_did_not_say_is_open(
    base: Anvil, shop: ApiClient, settings: Any
) -> None:
    answer = shop.get(f"/transactions/{UNKNOWN}")
    assert answer.refusal == (404, "resource_missing", "tx_hash")
    assert answer.error["message"] == f"There is no transaction {UNKNOWN}: it is not in your records, and not on Base."
    sent = pay(base, address_of(fresh_checkout(shop)))
    connect(settings, base=base.url, polygon="http://127.0.0.1:1")
    silent = shop.get(f"/transactions/{UNKNOWN}")
    assert silent.refusal == (503, "chain_unavailable", None)
    assert "Polygon" in silent.error["message"]
    assert shop.get(f"/transactions/{UNKNOWN}", {"chain": "base"}).status == 404
    assert shop.get(f"/transactions/{sent}").body["unasked_chains"] == ["polygon"]


def test_asking_nodes_writes_nothing_and_no_transaction_is_open(base: Anvil, shop: ApiClient) -> None:
    sent = pay(base, address_of(fresh_checkout(shop)))
    # Read, so that what is missing looks missed.
    ChainCursor.objects.create(chain="base", height=10**9, first_height=0, head=10**9, head_at=timezone.now())
    shop.get(f"/transactions/{sent}")
    with CaptureQueriesContext(connection) as asked:
        told(shop, sent)
    written = [each["sql"] for each in asked if not each["sql"].lstrip().startswith("SELECT")]
    assert written == []
    assert not SourceDifference.objects.exists()
    assert not Transfer.objects.exists()
