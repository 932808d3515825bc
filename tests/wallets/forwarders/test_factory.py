"""Checking the factory on a chain, and putting it there."""

from collections.abc import Callable
from typing import Any

import pytest

from localnet.anvil import Anvil
from tests.nodes.fixtures import BASE, ETHEREUM, POLYGON, StartNode
from wallets.forwarders.addresses import FACTORY_ADDRESS, IMPLEMENTATION_ADDRESS, checksum
from wallets.forwarders.factory import (
    DEPLOYER_COST_WEI,
    DEPLOYER_RAW_TRANSACTION,
    DEPLOYER_SIGNER,
    DeploymentError,
    FactoryMismatchError,
    FactoryMissingError,
    check_factory,
    deploy_factory,
    deployer_funding_transaction,
    deployer_is_missing,
    deployment_transaction,
)

FACTORY = checksum(FACTORY_ADDRESS)
IMPLEMENTATION = checksum(IMPLEMENTATION_ADDRESS)
WITHOUT_DEPLOYER = ("--disable-default-create2-deployer",)


class Liar:
    """A node behind a proxy that answers one method in its own way."""

    def __init__(self, node: Anvil, method: str, answer: Any) -> None:
        self.node, self.method, self.answer = node, method, answer

    def call(self, method: str, params: list[Any]) -> Any:
        return self.answer if method == self.method else self.node.call(method, params)


@pytest.fixture
def steps() -> list[str]:
    """What deploy_factory said."""
    return []


def test_a_chain_without_the_factory_is_told_from_one_with_another(start_node: StartNode) -> None:
    with pytest.raises(FactoryMissingError, match=FACTORY):
        check_factory(start_node())


@pytest.mark.parametrize("chain_id", [ETHEREUM, BASE, POLYGON])
def test_any_key_puts_the_factory_at_the_same_address_on_every_chain(
    start_node: StartNode, steps: list[str], chain_id: int
) -> None:
    node = start_node(chain_id)
    deploy_factory(node, key=node.accounts[chain_id % 10].key, say=steps.append)
    check_factory(node)
    assert steps[-1] == f"The factory is at {FACTORY}."


def test_deploying_twice_sends_nothing_the_second_time(start_node: StartNode, steps: list[str]) -> None:
    node = start_node()
    deploy_factory(node, key=node.accounts[0].key, say=steps.append)
    height = node.block_number()
    deploy_factory(node, key=node.accounts[1].key, say=steps.append)
    assert node.block_number() == height
    assert steps[-1] == "The factory is already there."


def test_sending_the_deployment_again_reverts_and_changes_nothing(base_node: Anvil) -> None:
    again = deployment_transaction()
    tx_hash = base_node.send(base_node.accounts[7], to=again.to, data=again.data, gas=3_000_000)
    assert base_node.receipt(tx_hash)["status"] == "0x0"
    check_factory(base_node)


def test_the_deployment_stays_within_its_gas_limit(start_node: StartNode) -> None:
    node, transaction = start_node(), deployment_transaction()
    tx_hash = node.send(node.accounts[0], to=transaction.to, data=transaction.data, gas=transaction.gas)
    assert int(node.receipt(tx_hash)["gasUsed"], 16) < 0.8 * transaction.gas
    check_factory(node)


def test_without_the_deterministic_deployer_the_deployment_alone_does_nothing(start_node: StartNode) -> None:
    node, transaction = start_node(extra=WITHOUT_DEPLOYER), deployment_transaction()
    tx_hash = node.send(node.accounts[0], to=transaction.to, data=transaction.data, gas=transaction.gas)
    assert node.receipt(tx_hash)["status"] == "0x1"
    assert node.code(FACTORY) == b""
    assert deployer_is_missing(node)


def test_a_missing_deterministic_deployer_is_put_there_first(start_node: StartNode, steps: list[str]) -> None:
    node = start_node(extra=WITHOUT_DEPLOYER)
    deploy_factory(node, key=node.accounts[3].key, say=steps.append)
    check_factory(node)
    assert not deployer_is_missing(node)
    assert len(steps) == 4


def test_a_one_time_signer_that_has_its_coin_is_not_paid_again(start_node: StartNode, steps: list[str]) -> None:
    node = start_node(extra=WITHOUT_DEPLOYER)
    funding = deployer_funding_transaction()
    node.receipt(node.send(node.accounts[0], to=funding.to, value=funding.value))
    assert node.balance(DEPLOYER_SIGNER) == DEPLOYER_COST_WEI
    deploy_factory(node, key=node.accounts[3].key, say=steps.append)
    check_factory(node)
    assert len(steps) == 3


def test_the_presigned_transaction_is_that_of_its_signer() -> None:
    from eth_account import Account

    assert Account.recover_transaction(DEPLOYER_RAW_TRANSACTION) == DEPLOYER_SIGNER


def change_one_byte(code: bytes) -> bytes:
    return code[:100] + bytes([code[100] ^ 1]) + code[101:]


def change_an_immutable_value(code: bytes) -> bytes:
    return code[:-1] + bytes([code[-1] ^ 1])


def append_a_byte(code: bytes) -> bytes:
    return code + b"\0"


@pytest.mark.parametrize("address", [FACTORY, IMPLEMENTATION], ids=["factory", "implementation"])
@pytest.mark.parametrize("change", [change_one_byte, change_an_immutable_value, append_a_byte])
def test_code_that_is_not_ours_to_the_byte_is_refused(
    base_node: Anvil, address: str, change: Callable[[bytes], bytes]
) -> None:
    base_node.rpc("anvil_setCode", address, "0x" + change(base_node.code(address)).hex())
    with pytest.raises(FactoryMismatchError, match=address):
        check_factory(base_node)


def test_a_factory_without_its_implementation_is_refused(base_node: Anvil) -> None:
    base_node.rpc("anvil_setCode", IMPLEMENTATION, "0x")
    with pytest.raises(FactoryMismatchError, match=IMPLEMENTATION):
        check_factory(base_node)


def test_nothing_is_sent_to_a_chain_where_something_else_has_the_address(
    start_node: StartNode, steps: list[str]
) -> None:
    node = start_node()
    node.rpc("anvil_setCode", FACTORY, "0x6001")
    with pytest.raises(FactoryMismatchError):
        deploy_factory(node, key=node.accounts[0].key, say=steps.append)
    assert steps == []
    assert node.block_number() == 0


@pytest.mark.parametrize("answer", ["0x", "0x" + "00" * 32, "0x" + "ff" * 32, "0xzz", "", None, 5, {}, "00" * 32])
def test_a_node_that_names_another_deposit_address_is_refused(base_node: Anvil, answer: Any) -> None:
    with pytest.raises(FactoryMismatchError):
        check_factory(Liar(base_node, "eth_call", answer))


@pytest.mark.parametrize("answer", [None, 5, [], "0x0g", "code"])
def test_a_node_that_does_not_answer_with_code_is_refused(base_node: Anvil, answer: Any) -> None:
    with pytest.raises(FactoryMismatchError):
        check_factory(Liar(base_node, "eth_getCode", answer))


@pytest.mark.parametrize("method", ["eth_chainId", "eth_getBalance", "eth_maxPriorityFeePerGas"])
@pytest.mark.parametrize("answer", [None, 5, "many", {}])
def test_nothing_is_sent_on_the_word_of_a_node_that_does_not_answer_with_numbers(
    start_node: StartNode, steps: list[str], method: str, answer: Any
) -> None:
    node = start_node()
    with pytest.raises(DeploymentError):
        deploy_factory(Liar(node, method, answer), key=node.accounts[0].key, say=steps.append)
    assert node.block_number() == 0


def test_a_poor_key_is_told_what_it_needs(start_node: StartNode, steps: list[str]) -> None:
    node = start_node()
    account = node.accounts[4]
    node.rpc("anvil_setBalance", account.address, "0x64")
    with pytest.raises(DeploymentError, match=rf"{account.address} holds 100 wei; up to \d+ wei"):
        deploy_factory(node, key=account.key, say=steps.append)
    assert node.block_number() == 0


@pytest.mark.parametrize("key", ["", "0x", "secret-words", "0x" + "00" * 32, "0x" + "1f" * 31])
def test_a_malformed_key_is_refused_without_being_shown(start_node: StartNode, steps: list[str], key: str) -> None:
    with pytest.raises(DeploymentError) as refusal:
        deploy_factory(start_node(), key=key, say=steps.append)
    assert str(refusal.value) == "The key is not a private key in hex."
    assert refusal.value.__cause__ is None
    assert refusal.value.__suppress_context__
