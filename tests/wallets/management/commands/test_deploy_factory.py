"""`manage.py deploy_factory`, against real nodes."""

import json
import re
from collections.abc import Callable
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from localnet.anvil import Anvil
from tests.nodes.fixtures import StartNode
from wallets.forwarders.addresses import FACTORY_ADDRESS, checksum
from wallets.forwarders.factory import check_factory, deployment_transaction

FACTORY = checksum(FACTORY_ADDRESS)
WITHOUT_DEPLOYER = ("--disable-default-create2-deployer",)

Serve = Callable[..., None]


@pytest.fixture
def serve(settings: Settings) -> Serve:
    """Make nodes those of Base, on the local network."""

    def use(*nodes: Anvil) -> None:
        settings.CHAIN_NETWORK = "local"
        settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": ",".join(n.url for n in nodes)}

    return use


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FLORIN_DEPLOYER_KEY", raising=False)


def run(chain: str = "base") -> str:
    """The command's output."""
    output = StringIO()
    call_command("deploy_factory", chain, stdout=output)
    return output.getvalue()


def printed_request(output: str) -> dict[str, str]:
    """The transaction in what the command tells a browser wallet's owner."""
    match = re.search(r"ethereum\.request\((.*)\)$", output, re.MULTILINE)
    assert match
    fields: dict[str, str] = json.loads(match[1])["params"][0]
    return fields


def test_the_key_of_the_environment_deploys_once(
    start_node: StartNode, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = start_node()
    serve(node)
    key = node.accounts[2].key
    monkeypatch.setenv("FLORIN_DEPLOYER_KEY", key)
    first = run()
    check_factory(node)
    assert f"The factory is at {FACTORY}." in first
    height = node.block_number()
    second = run()
    assert second == "The factory is already there.\n"
    assert node.block_number() == height
    assert key[2:] not in first + second


def test_without_a_key_it_prints_what_a_browser_wallet_can_send(start_node: StartNode, serve: Serve) -> None:
    node = start_node()
    serve(node)
    output = run()
    assert "chain id  8453" in output
    assert printed_request(output)["to"] == deployment_transaction().to
    # What the browser wallet does with it:
    sender = {"from": node.accounts[6].address}
    node.receipt(node.rpc("eth_sendTransaction", printed_request(output) | sender))
    check_factory(node)
    assert run() == f"The factory is already there, at {FACTORY}.\n"


def test_without_a_key_and_a_deterministic_deployer_two_sent_transactions_suffice(
    start_node: StartNode, serve: Serve
) -> None:
    node = start_node(extra=WITHOUT_DEPLOYER)
    serve(node)
    sender = {"from": node.accounts[6].address}
    for _ in range(2):
        request = printed_request(run())
        node.receipt(node.rpc("eth_sendTransaction", request | sender))
    check_factory(node)
    assert "already there" in run()


def test_a_node_of_another_chain_is_passed_by(start_node: StartNode, serve: Serve) -> None:
    wrong, right = start_node(137), start_node(8453)
    serve(wrong, right)
    request = printed_request(run())
    sender = {"from": right.accounts[6].address}
    right.receipt(right.rpc("eth_sendTransaction", request | sender))
    assert "already there" in run()
    assert wrong.block_number() == 0


def test_without_a_usable_node_it_says_which_failed_and_why(start_node: StartNode, serve: Serve) -> None:
    wrong, stopped = start_node(137), start_node(8453)
    serve(wrong, stopped)
    stopped.stop()
    with pytest.raises(CommandError) as refusal:
        run()
    assert f"{wrong.url} is not on chain 8453" in str(refusal.value)
    assert f"{stopped.url} does not answer" in str(refusal.value)


def test_something_else_at_the_address_is_refused(start_node: StartNode, serve: Serve) -> None:
    node = start_node()
    serve(node)
    node.rpc("anvil_setCode", FACTORY, "0x6001")
    with pytest.raises(CommandError, match="not ours"):
        run()


@pytest.mark.parametrize("chain", ["solana", "atlantis", "Base", ""])
def test_only_the_evm_chains_have_a_factory(settings: Settings, chain: str) -> None:
    settings.CHAIN_SETTINGS = {}
    with pytest.raises(CommandError, match="There are: base, polygon, ethereum"):
        run(chain)


def test_a_chain_without_a_node_is_told_which_setting_is_missing(settings: Settings) -> None:
    settings.CHAIN_SETTINGS = {}
    with pytest.raises(CommandError, match="CHAIN_BASE_RPC_URLS"):
        run()


def test_a_malformed_setting_is_named(settings: Settings) -> None:
    settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": "ftp://node"}
    with pytest.raises(CommandError, match="CHAIN_BASE_RPC_URLS"):
        run()
