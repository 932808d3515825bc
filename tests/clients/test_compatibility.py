"""The tables of docs/guide/x402-compatibility.md say what published clients and middlewares do: each cell is tried."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import pytest

from localnet import published
from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.permit2 import MULTICALL3, PERMIT2, allow, lay_multicall, lay_permit2
from localnet.smart_wallet import deploy_wallet, future_wallet
from localnet.solana.node import USDC
from localnet.tokens import DEPLOYER, execute, mint
from tests.clients.trials import (
    CLIENTS,
    GATES,
    OF_X402,
    SELLERS,
    Answers,
    behind,
    column_of,
    gated,
    row_of,
    rows_under,
    sold_by,
    tried,
)
from tests.tree import ROOT
from tests.x402.euros import lay_euros
from tests.x402.exact.sellers import PRICE_UNITS, Shop
from tests.x402.exact.shop import connect_evm, open_shop
from tests.x402.exact.solana.payers import key_of
from tests.x402.payers import pay_to_of
from wallets.chains.registry import CHAINS
from wallets.forwarders.addresses import checksum
from x402 import api
from x402.exact.facilitator import settle_standard, verify_standard

CHARGED = 3_500
FACTORY = checksum(DEPLOYER)
EVM_KEY = "0x" + "11" * 32
"""Of clients that know no key of Solana."""

Payer = Callable[[], Mapping[str, str]]


class Market(NamedTuple):
    """A shop of a merchant, and what its payers' programs are told."""

    shop: Shop
    payer: Mapping[str, str]


class Offer(NamedTuple):
    """Where something is sold, and what the next payer's program is told."""

    url: str
    payer: Payer


Open = Callable[[pytest.FixtureRequest], AbstractContextManager[Offer]]


@dataclass(frozen=True)
class Way:
    """A row of the table of ways: its scheme, its seller, and how it is set up."""

    scheme: str
    seller: str
    open: Open


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Answers:
    """What the facilitator is asked by signature, and answers."""
    found: Answers = []

    def noted(real: Callable[..., Any]) -> Callable[..., Any]:
        def answer(caller: Any, body: Any, **told: Any) -> Any:
            given = real(caller, body, **told)
            found.append((body.get("x402Version", 0), given))
            return given

        return answer

    monkeypatch.setattr(api, "verify_standard", noted(verify_standard))
    monkeypatch.setattr(api, "settle_standard", noted(settle_standard))
    return found


def facilitator_of(request: pytest.FixtureRequest) -> str:
    return f"{request.getfixturevalue('live_server').url}/api/v1/x402"


def on_base(request: pytest.FixtureRequest) -> Market:
    seller, usdc = request.getfixturevalue("exact_seller"), request.getfixturevalue("usdc")
    node = request.getfixturevalue("base_node")
    shop = Shop(facilitator_of(request), seller.key or "", pay_to_of(seller), usdc)
    return Market(shop, {"PAYER_KEY": payer(node).key})


def on_solana(request: pytest.FixtureRequest) -> Market:
    stall, seller = request.getfixturevalue("solana_stall"), request.getfixturevalue("solana_seller")
    shop = Shop(facilitator_of(request), seller.key or "", stall.wallet, USDC, network="solana")
    return Market(shop, {"PAYER_KEY": key_of(stall), "SOLANA_RPC_URL": stall.node.url})


NETWORKS = {"Base": on_base, "Solana": on_solana}


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("live_server")
@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("seller", SELLERS)
def test_each_client_gets_at_each_seller_what_the_guide_says(
    request: pytest.FixtureRequest, answers: Answers, network: str, seller: str
) -> None:
    market = NETWORKS[network](request)
    found = {}
    with sold_by(seller, market.shop) as url:
        for name, client in CLIENTS.items():
            is_foreign = network == "Solana" and name not in OF_X402
            told = {"PAYER_KEY": EVM_KEY} if is_foreign else market.payer
            found[client.row] = tried(client, url, answers, told)
    assert found == column_of(f"USDC on {network}", SELLERS[seller])


@contextmanager
def on_chain(request: pytest.FixtureRequest, chain: str, *, is_allowed: bool = False) -> Iterator[Offer]:
    """USDC on an EVM chain, on a node of its own, sold by the gate; `is_allowed` in clients that do not know it."""
    (facts,) = [one for one in CHAINS if one.name == chain]
    assert facts.mainnet.chain_id
    settings, pool = request.getfixturevalue("settings"), request.getfixturevalue("node_pool")
    with pool.lend(facts.mainnet.chain_id) as node:
        request.getfixturevalue("monkeypatch").setitem(published.USDC, node.chain_id, facts.mainnet.tokens["USDC"])
        usdc = connect_evm(settings, node, chain)
        seller = open_shop(chain)
        shop = Shop(facilitator_of(request), seller.key or "", pay_to_of(seller, chain), usdc)
        allowed = {"ALLOWED": f"eip155:{node.chain_id} {usdc}"} if is_allowed else {}
        with gated("wsgi", shop, chain=chain) as url:
            yield Offer(url, lambda: {"PAYER_KEY": payer(node).key, "CHAIN": chain, **allowed})


@contextmanager
def in_euros(request: pytest.FixtureRequest) -> Iterator[Offer]:
    market, node = on_base(request), request.getfixturevalue("base_node")
    eurc = lay_euros(request.getfixturevalue("settings"), node)
    with gated("wsgi", market.shop, token="EURC") as url:
        yield Offer(url, lambda: {**market.payer, "ALLOWED": f"eip155:8453 {eurc}"})


@contextmanager
def in_usdt(request: pytest.FixtureRequest, *, is_allowed: bool = True, has_approved: bool = True) -> Iterator[Offer]:
    """USDT on Ethereum; `is_allowed` in the client, and `has_approved` says whether its payer approved Permit2."""
    stall = request.getfixturevalue("stall")
    account = payer(stall.node) if has_approved else newcomer(stall.node, stall.usdt, 6)
    shop = Shop(facilitator_of(request), stall.client.key or "", stall.pay_to, stall.usdt)
    allowed = {"ALLOWED": f"eip155:1 {stall.usdt}"} if is_allowed else {}
    with gated("wsgi", shop, chain="ethereum", token="USDT") as url:
        yield Offer(url, lambda: {"PAYER_KEY": account.key, **allowed})


def newcomer(node: Anvil, token: str, number: int) -> Any:
    """An account of the node's with tokens, which never approved Permit2."""
    account = node.accounts[number]
    mint(node, token, account.address, 10 * PRICE_UNITS)
    return account


@contextmanager
def by_wallet(request: pytest.FixtureRequest) -> Iterator[Offer]:
    """A contract that is there pays, and judges its owner's signature itself."""
    market, node = on_base(request), request.getfixturevalue("base_node")
    wallet = deploy_wallet(node, payer(node))
    mint(node, market.shop.asset, wallet, 10 * PRICE_UNITS)
    with behind("@x402/express", market.shop) as url:
        yield Offer(url, lambda: {**market.payer, "WALLET": wallet})


@contextmanager
def by_future_wallet(request: pytest.FixtureRequest, *, trusted: str) -> Iterator[Offer]:
    """A contract that its payment deploys, another one for each client."""
    market, node = on_base(request), request.getfixturevalue("base_node")
    request.getfixturevalue("settings").X402_WALLET_FACTORIES = [trusted]
    lay_multicall(node)

    def told() -> Mapping[str, str]:
        wallet, calldata = future_wallet(payer(node))
        mint(node, market.shop.asset, wallet, PRICE_UNITS)
        return {**market.payer, "WALLET": wallet, "FACTORY": FACTORY, "FACTORY_DATA": f"0x{calldata.hex()}"}

    with behind("@x402/express", market.shop) as url:
        yield Offer(url, told)


@contextmanager
def a_part(request: pytest.FixtureRequest, *, has_approved: bool = True, sponsored: bool = False) -> Iterator[Offer]:
    """A part of a maximum is charged (scheme `upto`); `sponsored` where the token's own permit may come along."""
    market, node = on_base(request), request.getfixturevalue("base_node")
    usdc = market.shop.asset
    lay_permit2(node)
    allow(node, usdc)
    numbers = iter(range(4, 9))

    def told() -> Mapping[str, str]:
        if has_approved:
            return {**market.payer, "SCHEME": "upto"}
        account = newcomer(node, usdc, next(numbers))
        execute(node, account, usdc, "approve(address,uint256)", PERMIT2, 0)
        return {"PAYER_KEY": account.key, "SCHEME": "upto", "RPC_URL": node.url}

    with behind("@x402/express", market.shop, charged=str(CHARGED), sponsored=sponsored) as url:
        yield Offer(url, told)


BY_GATE, BY_NPM = GATES["wsgi"], SELLERS["@x402/express"]
WAYS: Mapping[str, Way] = {
    "USDC on Polygon": Way("`exact`", BY_GATE, partial(on_chain, chain="polygon")),
    "USDC on Ethereum": Way("`exact`", BY_GATE, partial(on_chain, chain="ethereum")),
    "USDC on Arbitrum One": Way("`exact`", BY_GATE, partial(on_chain, chain="arbitrum")),
    "USDC on OP Mainnet": Way("`exact`", BY_GATE, partial(on_chain, chain="optimism")),
    "USDC on OP Mainnet, allowed in the client": Way(
        "`exact`", BY_GATE, partial(on_chain, chain="optimism", is_allowed=True)
    ),
    "EURC on Base, allowed in the client": Way("`exact`", BY_GATE, in_euros),
    "USDT on Ethereum by Permit2, allowed in the client": Way("`exact`", BY_GATE, in_usdt),
    "USDT on Ethereum by Permit2": Way("`exact`", BY_GATE, partial(in_usdt, is_allowed=False)),
    "USDT on Ethereum, Permit2 not approved": Way("`exact`", BY_GATE, partial(in_usdt, has_approved=False)),
    "USDC on Base from a contract wallet (ERC-1271)": Way("`exact`", BY_NPM, by_wallet),
    "the same, not deployed yet (ERC-6492)": Way("`exact`", BY_NPM, partial(by_future_wallet, trusted=FACTORY)),
    "the same, of a factory that is not trusted": Way("`exact`", BY_NPM, partial(by_future_wallet, trusted=MULTICALL3)),
    "USDC on Base, a part of a maximum": Way("`upto`", BY_NPM, a_part),
    "the same, with the token's own permit": Way("`upto`", BY_NPM, partial(a_part, has_approved=False, sponsored=True)),
    "the same, Permit2 not approved": Way("`upto`", BY_NPM, partial(a_part, has_approved=False)),
}


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("live_server")
@pytest.mark.parametrize("name", WAYS)
def test_each_way_to_pay_ends_as_the_guide_says(request: pytest.FixtureRequest, answers: Answers, name: str) -> None:
    way = WAYS[name]
    found = {"payment": name, "scheme": way.scheme, "sold by": way.seller}
    with way.open(request) as offer:
        for client in (CLIENTS[one] for one in OF_X402):
            found[client.row] = tried(client, offer.url, answers, offer.payer())
    assert found == row_of("Other ways", name)


def test_the_guide_names_the_versions_that_are_tried() -> None:
    npm = json.loads((ROOT / "package.json").read_text())["devDependencies"]
    pypi = dict(re.findall(r"^([\w-]+)==(\S+)", (ROOT / "requirements/x402.txt").read_text(), re.MULTILINE))
    head, *rows = rows_under("What is tried")
    assert head == ["package", "version", "speaks"]
    told = {row[0]: row[1] for row in rows}
    expected = {f"npm `{name}`": npm[name] for name in ("x402-fetch", "@x402/fetch", "mppx")}
    expected |= {f"npm `{name}`": npm[name] for name in ("x402-express", "@x402/express")}
    assert told == expected | {f"PyPI `{name}`": pypi[name] for name in ("x402", "pympp")}


def test_the_guide_has_a_cell_for_each_trial_and_no_other() -> None:
    for network in NETWORKS:
        head, *rows = rows_under(f"USDC on {network}")
        assert head == ["client", *SELLERS.values()]
        assert [row[0] for row in rows] == [client.row for client in CLIENTS.values()]
    head, *rows = rows_under("Other ways")
    assert head == ["payment", "scheme", "sold by", *(CLIENTS[name].row for name in OF_X402)]
    assert [row[0] for row in rows] == list(WAYS)


def test_what_the_guide_says_is_not_tried_is_not_installed() -> None:
    named = {name for row in rows_under("What is not tried")[1:] for name in re.findall(r"`([^`]+)`", row[0])}
    package = json.loads((ROOT / "package.json").read_text())
    assert {"@x402/axios", "@x402/hono", "@x402/mcp"} <= named
    assert not named & {*package["dependencies"], *package["devDependencies"]}
