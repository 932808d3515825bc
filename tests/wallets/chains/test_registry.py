"""What the settings make of the chains and of their nodes, and which mistakes are told at start."""

from dataclasses import replace
from typing import Any

import pytest

from wallets.chains.facts import BASE
from wallets.chains.family import TokenDomain
from wallets.chains.registry import CHAINS, ChainConfigError, load_chain, load_chains, open_pool, unknown_settings
from wallets.chains.rpc.client import Node
from wallets.chains.solana.family import SOLANA_FAMILY
from wallets.networks import poll_seconds

ADDRESS = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"


@pytest.mark.parametrize("network", ["mainnet", "testnet"])
def test_published_token_addresses_are_in_canonical_form(network: str) -> None:
    for spec in load_chains(network, {}).values():
        for token in spec.tokens.values():
            canonical = spec.family.canonical_address(token.address, is_testnet=network == "testnet")
            assert canonical == token.address, (spec.name, token.symbol)


def test_one_build_serves_main_test_and_local_networks() -> None:
    assert load_chains("mainnet", {})["base"].chain_id == 8453
    assert load_chains("testnet", {})["base"].chain_id == 84532
    mixed = load_chains("mainnet", {"BASE_NETWORK": "local", "BASE_CHAIN_ID": "31337"})
    assert mixed["base"].chain_id == 31337
    assert (mixed["base"].start_block, mixed["base"].explorer_tx) == (0, None)
    assert mixed["polygon"].chain_id == 137
    assert mixed["polygon"].start_block is None


def test_every_setting_of_a_chain_is_read() -> None:
    spec = load_chains(
        "testnet",
        {
            "POLYGON_RPC_URLS": " https://a.example/key , http://b.example:8545 ",
            "POLYGON_CONFIRMATIONS": "30",
            "POLYGON_START_BLOCK": "7",
            "POLYGON_POLL_SECONDS": "0.2",
            "POLYGON_TOKEN_USDT": ADDRESS.lower(),
        },
    )["polygon"]
    assert spec.rpc_urls == ("https://a.example/key", "http://b.example:8545")
    assert (spec.confirmations, spec.start_block, spec.poll_seconds) == (30, 7, 0.2)
    assert spec.tokens["USDT"].address == ADDRESS
    assert [token.symbol for token in spec.accepted_tokens] == ["USDC", "USDT"]


def test_what_people_confuse_with_an_accepted_token_is_known_and_not_accepted() -> None:
    chains = load_chains("mainnet", {})
    wrong = {
        name: {token.symbol for token in spec.tokens.values() if not token.accepted} for name, spec in chains.items()
    }
    assert wrong["base"] >= {"USDbC", "USDT-bridged", "DAI", "EURC"}
    assert wrong["polygon"] >= {"USDC.e", "DAI"}
    assert wrong["solana"] >= {"USDT", "EURC", "PYUSD", "USDCet", "USDCpo", "USDP", "AUSD", "FRAX"}
    assert wrong["ton"] >= {"USDe", "jUSDC", "jUSDT", "oUSDC", "oUSDT"}
    assert wrong["tron"] >= {"USDC", "USDD", "TUSD", "USDJ"}
    assert wrong["ethereum"] >= {
        "DAI",
        "USDS",
        "PYUSD",
        "FDUSD",
        "USDe",
        "RLUSD",
        "GUSD",
        "BUSD",
        "FRAX",
        "LUSD",
        "AUSD",
    }
    assert wrong["base"] >= {"USDbC", "EURC", "DAI", "USDS", "USDe", "GHO", "LUSD", "FRAX"}
    assert wrong["polygon"] >= {"USDC.e", "DAI", "TUSD", "BUSD", "FRAX", "LUSD", "AUSD"}


@pytest.mark.parametrize(
    ("chain", "symbol", "address"),
    [
        ("solana", "USDT", "Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB"),
        ("solana", "EURC", "HzwqbKZw8HxMN6bF2yFZNrht3c2iXXzpKcFu7uBEDKtr"),
        ("tron", "USDC", "TEkxiTehnzSmSe2XqrBj4w32RUN966rdz8"),
        ("ethereum", "EURC", "0x1aBaEA1f7C830bD89Acc67eC4af516284b1bC33c"),
        ("base", "USDbC", "0xd9aAEc86B65D86f6A7B5B1b0c42FFA531710b6CA"),
        ("polygon", "USDC.e", "0x2791Bca1f2de4661ED88A30C99A7a9449Aa84174"),
        ("ton", "jUSDT", "EQBynBO23ywHy_CgarY9NK9FTz0yDsG82PtcbSTQgGoXwiuA"),
        ("arbitrum", "USDC.e", "0xFF970A61A04b1cA14834A43f5dE4533eBDDB5CC8"),
    ],
)
def test_the_issuers_own_contracts_are_known_by_their_addresses(chain: str, symbol: str, address: str) -> None:
    token = load_chains("mainnet", {})[chain].tokens[symbol]
    assert (token.address, token.accepted) == (address, False)


def test_each_genuine_token_has_one_valid_address_and_its_own_decimals() -> None:
    for facts in CHAINS:
        listed = [*facts.mainnet.tokens.values(), *facts.mainnet.wrong_tokens.values()]
        assert [facts.family.canonical_address(one) for one in listed] == listed
        assert len({facts.family.address_key(one) for one in listed}) == len(listed)
        assert facts.mainnet.decimals.keys() <= {*facts.symbols, *facts.mainnet.wrong_tokens}
        assert all(facts.mainnet.decimals.get(symbol, 6) >= 6 for symbol in facts.symbols)
        symbols = [*facts.symbols, *facts.mainnet.wrong_tokens]
        assert len(set(symbols)) == len(symbols)
        assert max(map(len, symbols)) <= 12
    chains = load_chains("mainnet", {})
    assert chains["ethereum"].tokens["DAI"].decimals == 18
    assert chains["ethereum"].tokens["PYUSD"].decimals == 6
    assert chains["ethereum"].tokens["GUSD"].decimals == 2
    assert chains["solana"].tokens["USDe"].decimals == 9
    assert {(one.decimals, one.contract_decimals) for one in chains["bnb"].accepted_tokens} == {(6, 18)}
    assert chains["bnb"].finer_tokens == ["DAI", "BUSD"]
    assert chains["tron"].finer_tokens == ["USDD", "USDDOLD", "TUSD", "USD1", "USDJ"]


def test_depth_alone_is_final_on_local_networks() -> None:
    assert load_chains("local", {})["polygon"].finality_tag is None
    assert load_chains("mainnet", {})["polygon"].finality_tag == "finalized"


def test_slow_public_chains_are_asked_less_often(settings: Any) -> None:
    settings.CHAIN_POLL_SECONDS = 1.0
    mainnet, local = load_chains("mainnet", {}), load_chains("local", {})
    assert poll_seconds(mainnet["base"]) == poll_seconds(local["ethereum"]) == 1.0
    assert poll_seconds(mainnet["ethereum"]) == 3.0


def test_a_bad_setting_is_an_error_that_names_it() -> None:
    with pytest.raises(ChainConfigError, match="CHAIN_BASE_CHAIN_ID"):
        load_chains("mainnet", {"BASE_CHAIN_ID": "one"})


def test_all_settings_in_the_registrys_docstring_are_known() -> None:
    keys = ("NETWORK", "RPC_URLS", "CHAIN_ID", "CONFIRMATIONS", "START_BLOCK", "POLL_SECONDS", "TOKENS")
    given = {f"POLYGON_{key}": "" for key in keys} | {"POLYGON_TOKEN_USDC_E": ""}
    assert unknown_settings(given | {"NETWORK": "", "POLL_SECONDS": ""}) == []


def test_a_transaction_is_linked_wherever_there_is_an_explorer() -> None:
    base = load_chains("mainnet", {})["base"]
    assert base.transaction_url("0x1") == "https://basescan.org/tx/0x1"
    # Whatever a node called a transaction stays one part of the link.
    assert base.transaction_url("a/b?c") == "https://basescan.org/tx/a%2Fb%3Fc"
    assert load_chains("local", {})["base"].transaction_url("0x1") is None


def test_what_is_confused_with_a_token_is_watched_and_not_accepted() -> None:
    base = load_chains("mainnet", {})["base"]
    assert [token.symbol for token in base.accepted_tokens] == ["USDC"]
    assert set(base.tokens) > {"USDC"}


def test_only_a_local_chain_may_begin_anew() -> None:
    local = {n: load_chains(n, {})["base"].is_local for n in ("mainnet", "testnet", "local")}
    assert local == {"mainnet": False, "testnet": False, "local": True}


def test_each_node_has_its_own_key_and_the_last_may_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[tuple[str, str]] = []

    def open_node(url: str, *, api_key: str) -> Node:
        opened.append((url, api_key))
        return Node(url)

    monkeypatch.setattr(SOLANA_FAMILY, "open_node", open_node, raising=False)
    urls = "https://one.example,https://two.example"
    given = {"SOLANA_RPC_URLS": urls, "SOLANA_API_KEYS": "first-key"}
    open_pool(load_chains("mainnet", given)["solana"]).close()
    assert opened == [("https://one.example", "first-key"), ("https://two.example", "")]


EURC = {
    "mainnet": "0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42",
    "testnet": "0x808456652fdb597867f38412077A9182bf77359F",
}


@pytest.mark.parametrize("network", ["mainnet", "testnet", "local"])
def test_euros_are_only_recorded_unless_the_operator_takes_them(network: str) -> None:
    base = load_chains(network, {})["base"]
    assert [token.symbol for token in base.machine_tokens] == ["USDC"]
    assert (base.tokens["EURC"].peg, base.tokens["EURC"].domain) == ("", None)
    assert {token.peg for token in base.accepted_tokens} == {"USD"}


@pytest.mark.parametrize("text", ["USDC,EURC", " EURC , USDC ", "USDC,EURC,"])
@pytest.mark.parametrize("network", ["mainnet", "testnet", "local"])
def test_taken_euros_are_for_machines_and_never_for_checkouts(network: str, text: str) -> None:
    base = load_chains(network, {"BASE_TOKENS": text})["base"]
    assert [token.symbol for token in base.accepted_tokens] == ["USDC"]
    assert [token.symbol for token in base.machine_tokens] == ["USDC", "EURC"]
    euro = base.tokens["EURC"]
    assert euro.address == EURC.get(network, EURC["mainnet"])
    assert (euro.peg, euro.accepted, euro.decimals, euro.domain) == ("EUR", False, 6, TokenDomain("EURC", "2"))


def test_euros_are_for_checkouts_where_they_are_named_for_them() -> None:
    base = load_chains("mainnet", {"BASE_TOKENS": "USDC,EURC", "BASE_CHECKOUT_TOKENS": "USDC,EURC"})["base"]
    assert [token.symbol for token in base.accepted_tokens] == ["USDC"]
    assert [token.symbol for token in base.checkout_tokens] == ["USDC", "EURC"]
    alone = load_chains("mainnet", {"BASE_TOKENS": "USDC,EURC", "BASE_CHECKOUT_TOKENS": "USDC"})["base"]
    assert [token.symbol for token in alone.checkout_tokens] == ["USDC"]


def test_a_chain_without_addresses_of_checkouts_takes_its_own_tokens_alone() -> None:
    exact = replace(BASE, exact_amount_required=True)
    given = {"BASE_TOKENS": "USDC,EURC", "BASE_CHECKOUT_TOKENS": "USDC,EURC"}
    with pytest.raises(ChainConfigError, match="CHAIN_BASE_CHECKOUT_TOKENS"):
        load_chain(exact, network="mainnet", settings=given)


@pytest.mark.parametrize("given", [{}, {"BASE_TOKENS": ""}, {"BASE_TOKENS": "USDC"}, {"POLYGON_TOKENS": "USDT,USDC"}])
def test_naming_a_chains_own_tokens_changes_nothing(given: dict[str, str]) -> None:
    assert load_chains("mainnet", given) == load_chains("mainnet", {})


@pytest.mark.parametrize("text", ["EURC", "USDC,DAI", "USDC,eurc", "USDC,USDT", "USDC EURC", ",,EURC"])
def test_a_wrong_list_of_tokens_is_an_error_that_names_the_setting(text: str) -> None:
    with pytest.raises(ChainConfigError, match="CHAIN_BASE_TOKENS"):
        load_chains("mainnet", {"BASE_TOKENS": text})


def test_a_token_without_a_known_contract_is_not_taken() -> None:
    for facts in CHAINS:
        for symbol in facts.other_pegs:
            assert {symbol} <= {*facts.mainnet.wrong_tokens} - {*facts.symbols}
    unknown = replace(BASE, testnet=replace(BASE.testnet, wrong_tokens={}))
    given = {"BASE_TOKENS": "USDC,EURC"}
    with pytest.raises(ChainConfigError, match="set CHAIN_BASE_TOKEN_EURC"):
        load_chain(unknown, network="testnet", settings=given)
    named = load_chain(unknown, network="testnet", settings=given | {"BASE_TOKEN_EURC": ADDRESS})
    assert [token.address for token in named.machine_tokens][1:] == [ADDRESS]
