"""Tokens of which the contract counts in more than millionths: cut where an answer is read, written whole where a payment is."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.test import Client
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from checkouts.attribution.queue import attribute_transfers
from localnet import published
from localnet.anvil import Anvil
from localnet.authorizations import authorize
from localnet.funding import payer
from localnet.tokens import balance_of, deploy_token, mint, transfer
from payouts.batches.instructions import PayoutLine, order_of
from settlements.books import check as checking
from settlements.books.check import check_chain
from settlements.gas.node import gas_node
from settlements.gas.upkeep import tend
from settlements.states import SettlementStatus
from settlements.sweeps.plan import WaitingFilter
from settlements.sweeps.service import resume, sweep
from tests.contract.client import ApiClient
from tests.factories import USDC_ON_BASE, WALLET
from tests.nodes.fixtures import NodePool
from tests.nodes.proxy import RpcProxy
from tests.payouts.factories import BUYER
from tests.wallets.factories import read_all
from tests.x402.exact.bodies import body_of
from tests.x402.exact.calls import verify
from tests.x402.exact.shop import connect_evm, open_shop
from tests.x402.payers import pay_to_of
from wallets.chains.base import ChainMismatchError
from wallets.chains.evm.adapter import EvmAdapter
from wallets.chains.evm.address import address_key
from wallets.chains.evm.authorizations import domains
from wallets.chains.evm.balances import EvmHoldings
from wallets.chains.evm.decode import ETHEREUM_DIALECT
from wallets.chains.facts import BASE, BNB
from wallets.chains.family import ChainFacts, ChainSpec, PaymentRequest, TokenSpec
from wallets.chains.registry import load_chain, open_pool
from wallets.models import DepositBalance, Transfer
from wallets.networks import chain_spec
from wallets.selectors import forget
from wallets.watcher_process import open_watcher
from wallets.watchers.passes import ChainWatcher

USDC = BNB.mainnet.tokens["USDC"]
MILLIONTH = 10**12
"""A millionth of a token of eighteen decimals, as its contract counts it."""
FINE = TokenSpec("USDC", USDC, 6, accepted=True, cut_decimals=12)
USUAL = TokenSpec("USDC", USDC_ON_BASE, 6, accepted=True)
ID = 8453
AMOUNTS = st.integers(min_value=0, max_value=2**256 - 1)


# Arithmetic.


@given(AMOUNTS)
def test_what_is_recorded_is_never_more_than_came_and_less_by_less_than_a_millionth(units: int) -> None:
    recorded = FINE.recorded_units(units)
    assert 0 <= units - FINE.contract_units(recorded) < MILLIONTH
    assert USUAL.recorded_units(units) == USUAL.contract_units(units) == units


@given(AMOUNTS)
def test_what_is_asked_for_is_recorded_to_the_unit(units: int) -> None:
    assert FINE.recorded_units(FINE.contract_units(units)) == units


def test_no_decimals_are_cut_where_a_contract_counts_in_millionths() -> None:
    assert (USUAL.decimals, USUAL.contract_decimals, FINE.decimals, FINE.contract_decimals) == (6, 6, 6, 18)


# Writing.


@pytest.fixture
def spec() -> ChainSpec:
    """BNB Smart Chain, with a node that nobody asks."""
    return load_chain(BNB, network="mainnet", settings={"BNB_RPC_URLS": "http://127.0.0.1:9"})


def test_a_payment_is_asked_for_in_the_contracts_units(spec: ChainSpec) -> None:
    asked = PaymentRequest(spec, "USDC", BUYER, 12_500_000)
    assert asked.contract_units == 12_500_000 * MILLIONTH
    uri = spec.family.payment_uri(asked)
    assert uri == f"ethereum:{USDC}@56/transfer?address={BUYER}&uint256=12500000000000000000"


def test_payouts_are_handed_out_in_the_contracts_units_and_listed_in_whole_tokens(spec: ChainSpec) -> None:
    order = order_of("pob_live_1", spec, "USDC", [PayoutLine("po_live_a", BUYER, 12_500_000)])
    [call] = order.calls()
    assert int(call["data"][-64:], 16) == 12_500_000 * MILLIONTH
    assert '"value": "12500000000000000000"' in order.safe_file(BUYER, at=timezone.now())
    assert f"{BUYER},12.5" in order.csv()


# Reading, on Base's node: `test_optional_chains.py` starts one of the chain's own id.


@pytest.fixture
def node(node_pool: NodePool) -> Iterator[Anvil]:
    """A node that is undone after the test."""
    with node_pool.lend(ID) as lent:
        yield lent


@pytest.fixture
def usdc(node: Anvil, settings: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """USDC at its address, of which the payer has plenty."""
    monkeypatch.setitem(published.USDC, ID, USDC)
    assert connect_evm(settings, node, "bnb") == USDC
    settings.CHAIN_SETTINGS = settings.CHAIN_SETTINGS | {"BNB_CHAIN_ID": str(ID)}
    forget()
    mint(node, USDC, payer(node).address, 10**12 * MILLIONTH)
    return USDC


@pytest.fixture
def seller(usdc: str) -> ApiClient:
    """A live key of a merchant with a wallet on the chain."""
    del usdc
    return open_shop("bnb")


@pytest.fixture
def watcher(usdc: str) -> Iterator[ChainWatcher]:
    """The chain's watcher, its first pass done."""
    del usdc
    spec = chain_spec("bnb")
    pool = open_pool(spec)
    opened = open_watcher(spec, pool, owner="one")
    read_all(opened)
    forget()
    yield opened
    pool.close()


PARTS = (12_500_000 * MILLIONTH + MILLIONTH - 1, 12_500_000 * MILLIONTH + MILLIONTH - 1, MILLIONTH - 1)
"""25 tokens in two parts, each with nearly a millionth more, and less than a millionth: two millionths more altogether."""


def pay_in_parts(node: Anvil, usdc: str, to: str, watcher: ChainWatcher) -> None:
    for units in PARTS:
        transfer(node, payer(node), usdc, to, units)
    node.mine(BNB.confirmations)
    read_all(watcher)
    attribute_transfers(now=timezone.now())


@pytest.mark.django_db(transaction=True)
def test_transfers_are_cut_to_millionths_and_less_than_one_is_dropped(
    node: Anvil, usdc: str, watcher: ChainWatcher, seller: ApiClient, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = seller.created(amount="25")
    [option] = checkout["available_chains"]
    assert (option["payAmount"], option["paymentUri"].rpartition("=")[2]) == ("25.000000", str(25 * 10**18))
    buttons = client.get(f"{urlsplit(checkout['checkout_url']).path}/wallets?chain=bnb&token=USDC").content.decode()
    assert f'data-units="{25 * 10**18}"' in buttons
    pay_in_parts(node, usdc, option["address"], watcher)
    assert [int(units) for units in Transfer.objects.values_list("units", flat=True)] == [12_500_000, 12_500_000]
    body = seller.get(f"/checkouts/{checkout['id']}").body
    assert (body["status"], body["amount_received"]) == ("completed", "25.000000")
    # The forwarder holds two millionths more, which are the rests of three transfers.
    assert check_chain(chain_spec("bnb"), now=timezone.now()).differences == []
    monkeypatch.setattr(checking, "MOST_CUT", 1)
    [difference] = check_chain(chain_spec("bnb"), now=timezone.now()).differences
    assert "the chain less the books 2 " in difference


@pytest.mark.django_db(transaction=True)
def test_a_settlement_moves_all_that_a_forwarder_holds(
    node: Anvil, usdc: str, watcher: ChainWatcher, seller: ApiClient, settings: Any
) -> None:
    settings.GAS_COIN_USD = {"bnb": "0.1"}
    pay_in_parts(node, usdc, seller.created(amount="25")["available_chains"][0]["address"], watcher)
    before = balance_of(node, usdc, WALLET)
    with gas_node("bnb") as gas:
        [settlement] = sweep(WaitingFilter("bnb", "USDC"), node=gas, now=timezone.now())
        node.mine(BNB.confirmations)
        read_all(watcher)
        tend("bnb", node=gas, now=timezone.now())
        resume("bnb", node=gas, now=timezone.now())
    assert balance_of(node, usdc, WALLET) - before == sum(PARTS)
    settlement.refresh_from_db()
    assert (settlement.status, settlement.units) == (SettlementStatus.SETTLED, 25_000_000)
    assert settlement.units_moved == 25_000_002
    # More was flushed than received, by what was cut.
    [kept] = DepositBalance.objects.all()
    assert (kept.received, kept.flushed) == (25_000_000, 25_000_002)
    assert check_chain(chain_spec("bnb"), now=timezone.now()).differences == []


@pytest.mark.django_db
def test_a_lookup_a_second_node_and_a_balance_say_what_the_watcher_does(node: Anvil, usdc: str) -> None:
    whole = transfer(node, payer(node), usdc, BUYER, 3 * MILLIONTH + 7)
    dust = transfer(node, payer(node), usdc, BUYER, MILLIONTH - 1)
    with RpcProxy(node.url) as proxy:
        settings = {
            "RPC_URLS": f"{node.url},{proxy.url}",
            "CHAIN_ID": str(ID),
            "TOKEN_USDT": deploy_token(node, "USDT"),
        }
        spec = load_chain(BNB, network="local", settings={f"BNB_{key}": value for key, value in settings.items()})
        pool = open_pool(spec)
        adapter = EvmAdapter(spec, pool)
        found, nothing = adapter.find(whole), adapter.find(dust)
        assert found
        assert nothing
        assert [one.units for one in found.transfers] == [3]
        assert [one.units for one in found.movements] == [3]
        assert (nothing.transfers, nothing.movements) == ((), ())
        assert adapter.witness(found.transfers) == [True]
        held = EvmHoldings(spec, pool, ETHEREUM_DIALECT).read({address_key(BUYER): BUYER})
        # Four millionths: a balance is cut as a whole.
        assert held.units[address_key(BUYER)]["USDC"] == 4
        pool.close()


# Decimals that are not those that we know.


def genesis_of(facts: ChainFacts, node: Anvil, *addresses: str) -> str:
    """What a watcher asks first of a chain of the main network, with tokens at addresses of its own."""
    named = {f"TOKEN_{symbol}": address for symbol, address in zip(facts.symbols, addresses, strict=True)}
    values = {"RPC_URLS": node.url, "CHAIN_ID": str(ID)} | named
    settings = {f"{facts.name.upper()}_{key}": value for key, value in values.items()}
    spec = load_chain(facts, network="mainnet", settings=settings)
    pool = open_pool(spec)
    try:
        return EvmAdapter(spec, pool).genesis()
    finally:
        pool.close()


def test_a_chain_is_not_watched_where_a_token_counts_in_other_decimals(node: Anvil) -> None:
    """The local tokens have six."""
    six = deploy_token(node, "USDC")
    assert genesis_of(BASE, node, six) == node.rpc("eth_getBlockByNumber", "0x0", False)["hash"]
    with pytest.raises(ChainMismatchError, match=f"USDC at {six} does not count in 18 .* Set CHAIN_BNB_TOKEN_USDC"):
        genesis_of(BNB, node, six, six)
    with pytest.raises(ChainMismatchError, match="Set CHAIN_BASE_TOKEN_USDC"):
        genesis_of(BASE, node, BUYER)


# What is signed.


@pytest.mark.django_db
def test_no_signature_moves_such_a_token_though_its_contract_would_take_one(
    node: Anvil, usdc: str, seller: ApiClient
) -> None:
    pool = open_pool(chain_spec("bnb"))
    assert domains.domain_of(pool, chain_spec("bnb"), "USDC") is None
    pool.close()
    to = pay_to_of(seller, "bnb")
    body = body_of(authorize(node, to, 500_000), usdc, chain_id=ID)
    assert verify(seller, body)["isValid"] is False
    assert [one["network"] for one in seller.get("/x402/supported").body["kinds"]] == []


@pytest.mark.django_db
def test_chains_tell_the_decimals_of_the_contract(usdc: str, seller: ApiClient) -> None:
    told = {one["chain"]: one["tokenContracts"] for one in seller.get("/chains").body["data"]}
    assert told["bnb"]["USDC"] == {"address": usdc, "decimals": 18}
    assert told["base"]["USDC"]["decimals"] == 6
