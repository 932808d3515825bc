"""The chain registry bound to Django's settings, and how addresses are shown."""

from typing import Any

import pytest

from tests.wallets.chains.examples import EVM, SOLANA, TRON
from wallets import networks
from wallets.chains.registry import CHAINS


def test_the_registry_follows_the_settings(settings: Any) -> None:
    settings.CHAIN_NETWORK = "mainnet"
    settings.CHAIN_SETTINGS = {}
    assert networks.watched_chains() == []
    settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": "https://node.example"}
    assert [spec.name for spec in networks.watched_chains()] == ["base"]


def test_chains_with_deposit_addresses_are_named_as_the_installation_has_them(settings: Any) -> None:
    settings.CHAIN_SETTINGS = {}
    assert networks.round_price_chains("or") == "Base or Polygon"
    settings.CHAIN_SETTINGS = {"OPTIMISM_RPC_URLS": "https://node.example"}
    assert networks.round_price_chains("and") == "Base, Polygon and OP Mainnet"


def test_it_is_made_once_for_the_same_settings(settings: Any) -> None:
    settings.CHAIN_SETTINGS = {}
    assert networks.chains() is networks.chains()


def test_what_is_confused_with_a_token_pays_nothing() -> None:
    assert networks.is_accepted("base", "USDC")
    assert not networks.is_accepted("base", "DOGE")
    assert "USDC" in networks.accepted_tokens()


def test_machines_may_pay_with_more_than_checkouts_take(settings: Any) -> None:
    settings.CHAIN_SETTINGS = {}
    assert not networks.takes_from_machines("base", "EURC")
    assert "EURC" not in networks.machine_tokens()
    settings.CHAIN_SETTINGS = {"BASE_TOKENS": "USDC,EURC"}
    assert networks.takes_from_machines("base", "USDC")
    assert networks.takes_from_machines("base", "EURC")
    assert not networks.takes_from_machines("base", "DAI")
    assert not networks.takes_from_machines("ethereum", "EURC")
    assert not networks.is_accepted("base", "EURC")
    assert ("EURC", "EURC") in networks.machine_token_choices()
    assert "EURC" not in networks.accepted_tokens()


def test_a_listed_token_of_another_currency_is_none_of_dollars() -> None:
    listed = {symbol for facts in CHAINS for symbol in (*facts.symbols, *facts.mainnet.wrong_tokens)}
    others = {symbol for facts in CHAINS for symbol in facts.other_pegs} | {one for one in listed if "EUR" in one}
    assert {symbol for symbol in listed if not networks.is_of_dollars(symbol)} == others


@pytest.mark.parametrize(("chain", "by_account"), [("base", False), ("tron", False), ("solana", True), ("ton", True)])
def test_solana_and_ton_are_asked_account_by_account(chain: str, by_account: bool) -> None:
    assert networks.reads_accounts(networks.chain_spec(chain)) is by_account


@pytest.mark.parametrize("text", [EVM, SOLANA, TRON, "", "\x00", "A" * 48, "EQ"])
def test_what_no_family_writes_in_another_form_is_shown_as_it_is(text: str) -> None:
    assert networks.shown_address(text) == text
