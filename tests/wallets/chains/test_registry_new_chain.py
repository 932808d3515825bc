"""A seventh chain, of which nothing exists but an entry of facts: it is offered, paid, and settled like the others."""

import re
from collections.abc import Iterator
from dataclasses import fields
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import Merchant
from accounts.states import Mode
from checkouts.attribution.queue import attribute_transfers
from demo.nodes.factory import prepare_chain
from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.tokens import token_address
from settlements.gas.fees import coin_usd, gas_policy
from tests.contract.client import ApiClient, client_of
from tests.factories import WALLET
from tests.nodes.fixtures import StartNode
from tests.tree import ROOT
from tests.wallets.factories import read_all
from tests.wallets.paying import transfer
from wallets.chains import registry
from wallets.chains.evm.family import EVM_FAMILY
from wallets.chains.family import ChainFacts, GasFacts, NetworkFacts
from wallets.chains.registry import open_pool
from wallets.networks import chain_spec
from wallets.receiving.service import set_receiving_wallet
from wallets.selectors import forget
from wallets.transfers.hashes import spellings
from wallets.watcher_process import open_watcher
from wallets.watchers.passes import ChainWatcher
from webhooks.models import Event

pytestmark = pytest.mark.django_db(transaction=True)

SEVENTH = ChainFacts(
    name="seventh",
    title="Seventh Chain",
    family=EVM_FAMILY,
    symbols=("USDC",),
    exact_amount_required=False,
    confirm_seconds=4,
    block_seconds=2,
    confirmations=3,
    gas_tier="low",
    priority=8,
    coin="SEV",
    gas=GasFacts(most_gwei="7", daily_coins="1", low_coins="0.1", coin_usd="2"),
    mainnet=NetworkFacts(
        chain_id=777_777,
        tokens={"USDC": token_address("USDC")},
        explorer_tx="https://scan.example/tx/{tx}",
        explorer_address="https://scan.example/address/{address}",
    ),
    testnet=NetworkFacts(
        chain_id=777_778,
        tokens={},
        explorer_tx="https://test.scan.example/tx/{tx}",
        explorer_address="https://test.scan.example/address/{address}",
    ),
)


@pytest.fixture
def node(start_node: StartNode, monkeypatch: pytest.MonkeyPatch, settings: Any) -> Anvil:
    """A node of the chain; the facts and the address of the node are all that Florin is told."""
    node = start_node(SEVENTH.mainnet.chain_id)
    prepare_chain(node)
    monkeypatch.setattr(registry, "CHAINS", (*registry.CHAINS, SEVENTH))
    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = {"SEVENTH_RPC_URLS": node.url}
    return node


@pytest.fixture
def watcher(node: Anvil) -> Iterator[ChainWatcher]:
    """The chain's watcher, as `run_watchers` opens it, and its first pass done."""
    spec = chain_spec(SEVENTH.name)
    pool = open_pool(spec)
    watcher = open_watcher(spec, pool, owner="one")
    read_all(watcher)
    forget()
    yield watcher
    pool.close()


@pytest.fixture
def seller(merchant: Merchant, watcher: ChainWatcher) -> ApiClient:
    """Its live key, once it set its wallet on the chain."""
    set_receiving_wallet(merchant, chain=SEVENTH.name, address=WALLET, now=timezone.now())
    forget()
    return client_of(merchant, Mode.LIVE)


def test_a_checkout_on_a_seventh_chain_is_paid_and_completed(
    node: Anvil, watcher: ChainWatcher, seller: ApiClient, client: Client
) -> None:
    checkout = seller.created(amount="25")
    assert [one["chain"] for one in checkout["available_chains"]] == ["seventh"]
    choice = {"chain": "seventh", "token": "USDC"}
    option = seller.post(f"/checkouts/{checkout['id']}/options", choice).body
    assert option["paymentUri"].startswith(
        f"ethereum:{token_address('USDC')}@777777/transfer?address={option['address']}"
    )
    page = client.get(urlsplit(checkout["checkout_url"]).path).content
    assert b"Seventh Chain" in page
    assert b"images/logos.svg#other" in page
    tx_hash = transfer(node, payer(node), token_address("USDC"), option["address"], 25 * 10**6)
    node.mine(SEVENTH.confirmations)
    read_all(watcher)
    assert attribute_transfers(now=timezone.now()) == 1
    body = seller.get(f"/checkouts/{checkout['id']}").body
    assert (body["status"], body["amount_received"]) == ("completed", "25.000000")
    told = Event.objects.filter(type="checkout.completed").get().body
    assert '"network":"seventh"' in bytes(told).decode()
    assert spellings(tx_hash)["seventh"] == tx_hash


def test_gas_on_the_seventh_chain_costs_what_its_facts_allow(node: Anvil) -> None:
    policy = gas_policy("seventh")
    assert (policy.max_fee, policy.daily) == (7 * 10**9, 10**18)
    assert coin_usd("seventh") == Decimal(2)


def test_settings_of_the_seventh_chain_are_known(node: Anvil) -> None:
    given = {"SEVENTH_CONFIRMATIONS": "5", "SEVENTH_TOKEN_USDC": WALLET, "SEVENTH_TYPO": "1"}
    assert registry.unknown_settings(given) == ["CHAIN_SEVENTH_TYPO"]
    spec = registry.load_chains("local", given)["seventh"]
    assert (spec.confirmations, spec.tokens["USDC"].address) == (5, WALLET)


def test_the_seventh_chain_is_told_by_the_api(node: Anvil, watcher: ChainWatcher) -> None:
    told = ApiClient().get("/chains").body["data"][-1]
    assert (told["chain"], told["name"], told["chainId"]) == ("seventh", "Seventh Chain", 777_777)
    assert (told["confirmations"], told["status"]) == (3, "ok")


def test_the_guide_names_every_fact_that_an_entry_has() -> None:
    guide = (ROOT / "docs" / "guide" / "add-a-chain.md").read_text()
    named = set(re.findall(r"`([a-z0-9_]+)`", guide)) | {"has_logo"}
    assert {one.name for one in fields(ChainFacts)} - {"requests_per_minute"} <= named


def test_each_logo_that_facts_tell_of_is_in_the_sprite() -> None:
    sprite = (ROOT / "static" / "images" / "logos.svg").read_text()
    views = set(re.findall(r'<view id="([a-z]+)"', sprite))
    assert {facts.name for facts in registry.CHAINS if facts.has_logo} <= views
    assert "other" in views
