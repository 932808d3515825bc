"""The system checks tell every wrong chain setting, each by its own id."""

from typing import Any

import pytest
from django.core.checks import run_checks

from localnet.anvil import Anvil
from tests.nodes import proxy as faults
from tests.nodes.proxy import RpcProxy
from tests.wallets.chains.test_registry import ADDRESS
from wallets.chains.registry import ChainConfigError, load_chains

MISTAKES = {
    "network": ({"BASE_NETWORK": "main"}, "wallets.E001"),
    "no scheme": ({"BASE_RPC_URLS": "node.example:8545"}, "wallets.E002"),
    "another scheme": ({"BASE_RPC_URLS": "ftp://node.example"}, "wallets.E002"),
    "bad port": ({"BASE_RPC_URLS": "http://node.example:99999"}, "wallets.E002"),
    "twice": ({"BASE_RPC_URLS": "http://a.example,http://a.example"}, "wallets.E002"),
    "chain id": ({"BASE_CHAIN_ID": "0x1"}, "wallets.E003"),
    "zero chain id": ({"BASE_CHAIN_ID": "0"}, "wallets.E003"),
    "confirmations": ({"BASE_CONFIRMATIONS": "0"}, "wallets.E004"),
    "other digits": ({"BASE_CONFIRMATIONS": "١٢"}, "wallets.E004"),
    "start block": ({"BASE_START_BLOCK": "-1"}, "wallets.E004"),
    "poll": ({"BASE_POLL_SECONDS": "0"}, "wallets.E004"),
    "token": ({"BASE_TOKEN_USDC": "0x12"}, "wallets.E005"),
    "token checksum": ({"BASE_TOKEN_USDC": ADDRESS.replace("C", "c", 1)}, "wallets.E005"),
    "tron token": ({"TRON_TOKEN_USDT": "T" + "1" * 33}, "wallets.E005"),
    "tokens without the chain's own": ({"BASE_TOKENS": "EURC"}, "wallets.E005"),
    "tokens of an unknown name": ({"BASE_TOKENS": "USDC,DAI"}, "wallets.E005"),
    "euros for checkouts alone": ({"BASE_CHECKOUT_TOKENS": "USDC,EURC"}, "wallets.E005"),
    "euros for checkouts of another chain": ({"POLYGON_CHECKOUT_TOKENS": "USDC,USDT,EURC"}, "wallets.E005"),
    "euros on another chain": ({"POLYGON_TOKENS": "USDC,USDT,EURC"}, "wallets.E005"),
    "unknown": ({"BASE_RPC_URL": "http://node.example"}, "wallets.W001"),
    "optional chain without nodes": ({"ARBITRUM_CONFIRMATIONS": "90"}, "wallets.W004"),
    "unknown chain": ({"BSC_RPC_URLS": "http://node.example"}, "wallets.W001"),
}


@pytest.mark.parametrize(("given", "check_id"), MISTAKES.values(), ids=MISTAKES)
def test_each_mistake_is_told_by_a_check_with_its_own_id(settings: Any, given: dict[str, str], check_id: str) -> None:
    settings.CHAIN_NETWORK = "mainnet"
    settings.CHAIN_SETTINGS = given
    [message] = run_checks(tags=["chains"])
    assert message.id == check_id
    assert message.hint
    [key] = given
    assert f"CHAIN_{key}" in message.msg


@pytest.mark.parametrize("named", [None, [], ["metamask", " tronlink "]])
def test_known_wallet_apps_are_no_mistake(named: list[str] | None, settings: Any) -> None:
    settings.CHAIN_SETTINGS = {}
    settings.WALLET_LINKS = named
    assert run_checks(tags=["chains"]) == []


def test_an_unknown_wallet_app_is_a_warning_that_lists_the_known_ones(settings: Any) -> None:
    settings.CHAIN_SETTINGS = {}
    settings.WALLET_LINKS = ["metamask", "metamsk"]
    [message] = run_checks(tags=["chains"])
    assert message.id == "wallets.W003"
    assert "'metamsk'" in message.msg
    assert "tonkeeper" in (message.hint or "")


@pytest.mark.parametrize(
    ("url", "named"),
    [("", []), ("", ["nobody"]), ("https://bridge.tonapi.io/bridge", []), ("https://relay.example", ["tonkeeper"])],
)
def test_a_relay_that_leads_to_wallets_is_no_mistake(url: str, named: list[str], settings: Any) -> None:
    settings.CHAIN_SETTINGS = {}
    settings.TON_CONNECT_RELAY, settings.TON_CONNECT_RELAY_WALLETS = url, named
    assert run_checks(tags=["chains"]) == []


@pytest.mark.parametrize(
    ("url", "named", "check_id", "says"),
    [
        ("http://bridge.tonapi.io/bridge", [], "wallets.E007", "'http://bridge.tonapi.io/bridge'"),
        ("bridge.tonapi.io", ["tonkeeper"], "wallets.E007", "'bridge.tonapi.io'"),
        ("https://relay.example", ["tonkeeper", "tonkeper"], "wallets.E007", "'tonkeper'"),
        ("https://relay.example", [], "wallets.W006", "No wallet is known"),
    ],
)
def test_a_relay_that_pages_cannot_use_is_told(
    url: str, named: list[str], check_id: str, says: str, settings: Any
) -> None:
    settings.CHAIN_SETTINGS = {}
    settings.TON_CONNECT_RELAY, settings.TON_CONNECT_RELAY_WALLETS = url, named
    [message] = run_checks(tags=["chains"])
    assert message.id == check_id
    assert says in message.msg
    assert message.hint


def test_a_bad_node_address_is_not_repeated_because_it_may_hold_a_key() -> None:
    with pytest.raises(ChainConfigError) as caught:
        load_chains("mainnet", {"BASE_RPC_URLS": "htps://node.example/secret-key"})
    assert "secret-key" not in str(caught.value)


def test_a_wrong_network_of_the_installation_is_told_once(settings: Any) -> None:
    settings.CHAIN_NETWORK = "production"
    settings.CHAIN_SETTINGS = {}
    [message] = run_checks(tags=["chains"])
    assert message.id == "wallets.E001"
    assert message.msg.startswith("CHAIN_NETWORK: ")


def test_the_deploy_check_asks_nodes_for_their_chain(settings: Any, base_node: Anvil) -> None:
    settings.CHAIN_NETWORK = "mainnet"
    with RpcProxy(base_node.url) as wrong:
        settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": f"{base_node.url},{wrong.url}"}
        assert run_checks(tags=["chains"], include_deployment_checks=True) == []
        wrong.fault = faults.claims_chain(1)
        [error] = run_checks(tags=["chains"], include_deployment_checks=True)
    assert error.id == "wallets.E006"
    assert "chain id 1, not 8453" in error.msg


def test_the_deploy_check_wants_a_second_node_on_public_networks(settings: Any, base_node: Anvil) -> None:
    settings.CHAIN_NETWORK = "mainnet"
    settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": base_node.url}
    [warning] = run_checks(tags=["chains"], include_deployment_checks=True)
    assert warning.id == "wallets.W002"
    settings.CHAIN_NETWORK = "local"
    assert run_checks(tags=["chains"], include_deployment_checks=True) == []


@pytest.mark.parametrize(
    ("charges", "currencies", "told"),
    [(True, [], ["wallets.W005"]), (True, ["EUR"], []), (False, [], []), (None, [], [])],
)
def test_a_token_whose_payments_have_no_fee_is_told_where_fees_are_charged(
    settings: Any, charges: bool | None, currencies: list[str], told: list[str]
) -> None:
    settings.CHAIN_NETWORK = "mainnet"
    settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": "https://a.example", "BASE_TOKENS": "USDC,EURC"}
    settings.CHARGE_FEES, settings.PRICE_CURRENCIES = charges, currencies
    found = run_checks(tags=["chains"])
    assert [one.id for one in found] == told
    assert all("CHAIN_BASE_TOKENS takes EURC" in one.msg and "EUR" in (one.hint or "") for one in found)


@pytest.mark.parametrize(("currencies", "told"), [([], ["wallets.W007"]), (["EUR"], [])])
def test_a_token_that_no_checkout_can_offer_is_told(settings: Any, currencies: list[str], told: list[str]) -> None:
    settings.CHAIN_NETWORK, settings.CHARGE_FEES, settings.PRICE_CURRENCIES = "mainnet", False, currencies
    settings.CHAIN_SETTINGS = {
        "BASE_RPC_URLS": "https://a.example",
        "BASE_TOKENS": "USDC,EURC",
        "BASE_CHECKOUT_TOKENS": "USDC,EURC",
    }
    found = run_checks(tags=["chains"])
    assert [one.id for one in found] == told
    assert all("CHAIN_BASE_CHECKOUT_TOKENS names EURC" in one.msg and "EUR" in (one.hint or "") for one in found)
