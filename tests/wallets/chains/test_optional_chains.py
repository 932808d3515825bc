"""Chains that an installation has once it names their nodes: entries of facts alone, each paid on a node of its own."""

import re
from collections.abc import Iterator
from math import ceil
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.test import Client
from django.utils import timezone

from checkouts.attribution.queue import attribute_transfers
from localnet import published
from localnet.anvil import Anvil
from localnet.authorizations import authorize
from localnet.funding import payer
from localnet.permit2 import UPTO_PROXY, allow, lay_permit2, permit
from localnet.tokens import balance_of, mint, transfer
from settlements.sweeps.plan import Item, batch_gas, batches, call_of, gas_limit_of
from tests.contract.client import ApiClient
from tests.nodes.fixtures import NodePool
from tests.tree import APPS, ROOT, relative, repository_files
from tests.wallets.factories import read_all
from tests.x402.calls import verdict
from tests.x402.exact.bodies import body_of
from tests.x402.exact.calls import settle, verify
from tests.x402.exact.permits import upto_body
from tests.x402.exact.shop import connect_evm, open_shop
from tests.x402.payers import claim_of, pay_to_of
from wallets.chains.base import BlockRef, Head
from wallets.chains.evm.adapter import EvmAdapter
from wallets.chains.family import ChainFacts
from wallets.chains.registry import CHAINS, load_chain, open_pool
from wallets.networks import chain_spec, chain_title, chains, known_chains
from wallets.selectors import forget
from wallets.watcher_process import open_watcher
from wallets.watchers.ingest import kept_blocks
from wallets.watchers.passes import ChainWatcher
from webhooks.models import Event
from x402.exact.evm import permit2

pytestmark = pytest.mark.django_db

OPTIONAL = [facts for facts in CHAINS if facts.is_optional]
OF_THE_SPECIFICATION = ["base", "polygon", "solana", "ton", "tron", "ethereum"]
FACTS = ROOT / "wallets" / "chains" / "facts.py"
UNITS = 500_000


@pytest.fixture(params=OPTIONAL, ids=lambda facts: facts.name)
def facts(request: pytest.FixtureRequest) -> ChainFacts:
    """Each optional chain in turn."""
    found: ChainFacts = request.param
    return found


@pytest.fixture
def node(facts: ChainFacts, node_pool: NodePool) -> Iterator[Anvil]:
    """A node with the chain's id, undone after the test."""
    assert facts.mainnet.chain_id
    with node_pool.lend(facts.mainnet.chain_id) as lent:
        yield lent


@pytest.fixture
def usdc(facts: ChainFacts, node: Anvil, settings: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """USDC at its published address on the only chain that has a node."""
    address = facts.mainnet.tokens["USDC"]
    monkeypatch.setitem(published.USDC, node.chain_id, address)
    assert connect_evm(settings, node, facts.name) == address
    mint(node, address, payer(node).address, of_contract(facts, 10**12))
    return address


def of_contract(facts: ChainFacts, units: int) -> int:
    """So many millionths of USDC, as its contract counts them."""
    return load_chain(facts, network="mainnet", settings={}).tokens["USDC"].contract_units(units)


@pytest.fixture
def seller(facts: ChainFacts, usdc: str) -> ApiClient:
    """A live key of a merchant with a wallet on the chain."""
    del usdc
    return open_shop(facts.name)


@pytest.fixture
def watcher(facts: ChainFacts, usdc: str) -> Iterator[ChainWatcher]:
    """The chain's watcher, as `run_watchers` opens it, and its first pass done."""
    del usdc
    spec = chain_spec(facts.name)
    pool = open_pool(spec)
    opened = open_watcher(spec, pool, owner="one")
    read_all(opened)
    forget()
    yield opened
    pool.close()


def test_without_its_node_an_optional_chain_is_listed_nowhere(facts: ChainFacts, settings: Any, client: Client) -> None:
    settings.CHAIN_NETWORK, settings.CHAIN_SETTINGS = "mainnet", {}
    assert list(chains()) == OF_THE_SPECIFICATION
    assert [one["chain"] for one in client.get("/api/v1/chains").json()["data"]] == OF_THE_SPECIFICATION
    settings.CHAIN_SETTINGS = {f"{facts.name.upper()}_RPC_URLS": "http://127.0.0.1:9"}
    forget()
    listed = client.get("/api/v1/chains").json()["data"]
    assert [one["chain"] for one in listed] == [*OF_THE_SPECIFICATION, facts.name]
    assert [listed[-1]["name"], listed[-1]["chainId"]] == [facts.title, facts.mainnet.chain_id]


def test_an_optional_chain_is_known_by_its_title_without_its_node(facts: ChainFacts, settings: Any) -> None:
    settings.CHAIN_SETTINGS = {}
    assert facts.name in known_chains()
    assert chain_title(facts.name) == facts.title


@pytest.mark.django_db(transaction=True)
def test_a_checkout_is_paid_and_stays_readable_after_the_node_was_taken_away(
    facts: ChainFacts, node: Anvil, watcher: ChainWatcher, seller: ApiClient, client: Client, settings: Any
) -> None:
    usdc = facts.mainnet.tokens["USDC"]
    checkout = seller.created(amount="25")
    assert [one["chain"] for one in checkout["available_chains"]] == [facts.name]
    option = seller.post(f"/checkouts/{checkout['id']}/options", {"chain": facts.name, "token": "USDC"}).body
    paying = f"ethereum:{usdc}@{node.chain_id}/transfer?address={option['address']}"
    assert option["paymentUri"].startswith(paying)
    transfer(node, payer(node), usdc, option["address"], of_contract(facts, 25 * 10**6))
    node.mine(facts.confirmations)
    read_all(watcher)
    assert attribute_transfers(now=timezone.now()) == 1
    body = seller.get(f"/checkouts/{checkout['id']}").body
    assert (body["status"], body["amount_received"]) == ("completed", "25.000000")
    assert f'"network":"{facts.name}"' in bytes(Event.objects.get(type="checkout.completed").body).decode()
    settings.CHAIN_SETTINGS = {}
    forget()
    assert seller.get(f"/checkouts/{checkout['id']}").body["status"] == "completed"
    page = client.get(urlsplit(checkout["checkout_url"]).path)
    assert page.status_code == 200
    assert facts.title in page.content.decode()


@pytest.mark.parametrize("facts", [one for one in OPTIONAL if one.mainnet.domains], ids=lambda one: one.name)
def test_a_machine_pays_by_a_signature_where_the_token_takes_one(
    facts: ChainFacts, node: Anvil, usdc: str, seller: ApiClient
) -> None:
    to = pay_to_of(seller, facts.name)
    body = body_of(authorize(node, to, UNITS), usdc, chain_id=node.chain_id)
    assert verify(seller, body)["isValid"] is True
    assert settle(seller, body)["success"] is True
    assert balance_of(node, usdc, to) == UNITS


@pytest.mark.parametrize("facts", [one for one in OPTIONAL if one.mainnet.domains], ids=lambda one: one.name)
def test_a_machine_pays_a_part_of_a_maximum_where_the_standards_contract_is(
    facts: ChainFacts, node: Anvil, usdc: str, seller: ApiClient
) -> None:
    lay_permit2(node)
    allow(node, usdc)
    # A test before may have asked this node, which had no contract then.
    permit2._missing.clear()
    network = f"eip155:{node.chain_id}"
    [kind] = [
        one
        for one in seller.get("/x402/supported").body["kinds"]
        if (one["scheme"], one["network"]) == ("upto", network)
    ]
    to, named = pay_to_of(seller, facts.name), kind["extra"]["facilitatorAddress"]
    told = permit(node, usdc, to, UNITS, spender=UPTO_PROXY, facilitator=named)
    assert verify(seller, upto_body(told, node.chain_id))["isValid"] is True
    assert settle(seller, upto_body(told, node.chain_id, UNITS // 2))["success"] is True
    assert balance_of(node, usdc, to) == UNITS // 2


def test_a_machine_pays_by_a_hash(facts: ChainFacts, node: Anvil, usdc: str, seller: ApiClient) -> None:
    to = pay_to_of(seller, facts.name)
    tx_hash = transfer(node, payer(node), usdc, to, of_contract(facts, UNITS))
    claim = claim_of(node, tx_hash, to, chain=facts.name)
    if facts.x402_confirmations > 1:
        assert verdict(seller, claim) == "not_confirmed"
    node.mine(facts.x402_confirmations)
    assert verdict(seller, claim) == "valid"
    assert verdict(seller, claim) == "already_used"


def test_test_networks_name_contracts_of_their_own(facts: ChainFacts) -> None:
    spec = load_chain(facts, network="testnet", settings={})
    assert spec.chain_id != facts.mainnet.chain_id
    assert {token.address for token in spec.tokens.values()}.isdisjoint(facts.mainnet.tokens.values())


class Nodes:
    """Nodes of which another has heard of some blocks more than the one that is asked."""

    def __init__(self, height: int, *, elsewhere: int) -> None:
        self.newest = Head(BlockRef(height, "0x01", "0x00", timezone.now()), agreed=True)
        self.elsewhere = elsewhere

    def run(self, _ask: Any) -> tuple[list[Any], Head]:
        return [], self.newest

    def survey(self, _ask: Any) -> list[int]:
        return [self.newest.block.height, self.elsewhere]

    def rest_current(self, _seconds: float) -> None:
        pass


def test_nodes_that_hear_of_blocks_six_seconds_apart_agree(facts: ChainFacts) -> None:
    spec = load_chain(facts, network="mainnet", settings={})
    apart = ceil(6 / facts.block_seconds)
    for ahead, agreed in ((apart, True), (apart + 1, False)):
        nodes: Any = Nodes(1_000, elsewhere=1_000 + ahead)
        assert EvmAdapter(spec, nodes).head().agreed is agreed


def test_a_fork_of_eight_minutes_is_followed(facts: ChainFacts) -> None:
    spec = load_chain(facts, network="mainnet", settings={})
    assert kept_blocks(spec) * facts.block_seconds >= 480


def test_a_calculated_gas_limit_has_room_for_what_bytes_take(facts: ChainFacts) -> None:
    assert facts.gas
    for is_deployed in (False, True):
        items = [
            Item(number, 1, "checkout", bytes(20), bytes(32), 10**6, is_deployed=is_deployed) for number in range(300)
        ]
        full = next(batches(items, gas=batch_gas(facts.name)))
        call = call_of(facts.name, "USDC", full)
        assert call.gas_limit - gas_limit_of(full) >= facts.gas.byte_gas * len(call.data)
        assert call.gas_limit < 2**24


def test_only_their_facts_name_them() -> None:
    words = [re.escape(word) for facts in OPTIONAL for word in (facts.name, facts.title, str(facts.mainnet.chain_id))]
    # A short chain id is any number.
    named = re.compile(rf"\b({'|'.join(word for word in words if len(word) > 2)})\b", re.IGNORECASE)
    places = (*APPS, "templates", "static", "locale", "localnet", "deploy")
    files = repository_files(".py", ".html", ".js", ".css", ".sql", ".svg", ".po")
    sources = [path for path in files if relative(path).split("/")[0] in places and path != FACTS]
    found = [relative(path) for path in sources if named.search(path.read_text())]
    assert len(sources) > 500
    assert found == []
    assert named.search(FACTS.read_text())


# What it takes to add such a chain: its entry, and three tables that people and tests read.
TABLES = ("docs/guide/chains.md", "tests/wallets/transfers/test_hashes.py")
TABLE_OF_APPS = "docs/guide/wallet-apps.md"
# The Python client is a distribution of its own and has no facts of ours: it lists networks by hand, or says what it cannot do there.
OF_THE_CLIENT = {
    "arbitrum": {"clients/python/src/florin_x402/config.py"},
    "optimism": {"clients/python/src/florin_x402/config.py"},
    "bnb": {"clients/python/src/florin_x402/evm.py", "clients/python/src/florin_x402/prices.py"},
}


def test_a_chain_is_in_one_file_of_the_product_and_in_three_tables(facts: ChainFacts) -> None:
    named = re.compile(rf"\b({facts.name}|{re.escape(facts.title)})\b", re.IGNORECASE)
    kinds = (".py", ".html", ".js", ".ts", ".php", ".css", ".sql", ".svg", ".po", ".sh", ".toml", ".yml", ".yaml")
    files = [(relative(path), path) for path in repository_files(*kinds)]
    product = [one for one in files if one[0].split("/")[0] not in {"tests", "docs", "benchmarks"}]
    naming = {name for name, path in product if "/tests/" not in name and named.search(path.read_text())}
    assert naming - OF_THE_CLIENT.get(facts.name, set()) == {relative(FACTS)}
    assert naming >= OF_THE_CLIENT.get(facts.name, set())
    tables = (*TABLES, TABLE_OF_APPS) if facts.apps else TABLES
    assert [table for table in tables if not named.search((ROOT / table).read_text())] == []
