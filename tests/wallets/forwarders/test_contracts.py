"""What the deployed contracts do with money, on a node of each EVM chain."""

import secrets
from collections.abc import Callable

import pytest

from localnet.abi import encode_arguments, encode_call
from localnet.anvil import Anvil, FundedAccount
from localnet.errors import NodeError
from localnet.funding import payer
from localnet.tokens import balance_of, deploy_contract, execute, mint, read, token_address, transfer, transfer_many
from tests.nodes.forwarders import (
    FACTORY,
    FLUSH_MANY,
    NATIVE_COIN,
    Deposit,
    emptied,
    failed,
    flush,
    flush_many,
    new_deposit,
)
from wallets.forwarders.addresses import IMPLEMENTATION_ADDRESS, checksum, clone_code, deposit_key

USDC = token_address("USDC")
USDT = token_address("USDT")
IMPLEMENTATION = checksum(IMPLEMENTATION_ADDRESS)
ROUNDS = 1500  # about 200,000 gas, of the 300,000 that a batch gives each item
SWEEP = "sweep(address,address)"

Attack = Callable[[Anvil, Deposit, FundedAccount], object]


def stranger(node: Anvil) -> FundedAccount:
    return node.accounts[7]


def thief(node: Anvil) -> FundedAccount:
    return node.accounts[8]


def paid_deposit(node: Anvil, token: str = USDC, units: int = 1000) -> Deposit:
    deposit = new_deposit()
    transfer(node, payer(node), token, deposit.address, units)
    return deposit


def holdings(node: Anvil, token: str, deposit: Deposit) -> tuple[int, int]:
    """What the deposit address and its destination hold."""
    return (balance_of(node, token, deposit.address), balance_of(node, token, deposit.destination))


def test_the_factory_derives_the_same_deposit_addresses_as_we_do(evm_node: Anvil) -> None:
    for _ in range(200):
        destination, nonce = secrets.token_bytes(20), secrets.token_bytes(32)
        answer = read(evm_node, FACTORY, "address_of(address,bytes32)", destination, nonce)
        assert answer == "0x" + (bytes(12) + deposit_key(destination, nonce)).hex()


@pytest.mark.parametrize("token", [USDC, USDT], ids=["answers-true", "answers-nothing"])
def test_tokens_sent_before_deployment_reach_the_destination(evm_node: Anvil, token: str) -> None:
    deposit = paid_deposit(evm_node, token)
    assert evm_node.code(deposit.address) == b""
    receipt = flush(evm_node, stranger(evm_node), deposit, token)
    assert holdings(evm_node, token, deposit) == (0, 1000)
    assert evm_node.code(deposit.address) == clone_code(IMPLEMENTATION_ADDRESS)
    # The token's own event, which everything is found by, and no word of the factory.
    assert emptied(receipt, token) == [deposit.address]
    assert len(receipt["logs"]) == 1


@pytest.mark.parametrize("token", [USDC, USDT], ids=["answers-true", "answers-nothing"])
def test_a_top_up_after_deployment_reaches_the_destination_too(evm_node: Anvil, token: str) -> None:
    deposit = paid_deposit(evm_node, token)
    flush(evm_node, stranger(evm_node), deposit, token)
    transfer(evm_node, payer(evm_node), token, deposit.address, 77)
    flush(evm_node, stranger(evm_node), deposit, token)
    assert holdings(evm_node, token, deposit) == (0, 1077)


def test_flushing_an_empty_deposit_address_is_no_error_and_no_event(evm_node: Anvil) -> None:
    receipt = flush(evm_node, stranger(evm_node), new_deposit(), USDC)
    assert receipt["logs"] == []


def test_a_second_token_at_the_same_address_is_flushed_on_its_own(evm_node: Anvil) -> None:
    deposit = paid_deposit(evm_node, USDC)
    transfer(evm_node, payer(evm_node), USDT, deposit.address, 5)
    flush(evm_node, stranger(evm_node), deposit, USDC)
    assert holdings(evm_node, USDT, deposit) == (5, 0)
    flush(evm_node, stranger(evm_node), deposit, USDT)
    assert holdings(evm_node, USDT, deposit) == (0, 5)


def sweep_the_forwarder(node: Anvil, deposit: Deposit, caller: FundedAccount) -> None:
    execute(node, caller, deposit.address, SWEEP, USDC, thief(node).address)


def sweep_to_the_destination(node: Anvil, deposit: Deposit, caller: FundedAccount) -> None:
    execute(node, caller, deposit.address, SWEEP, USDC, deposit.destination)


def sweep_the_implementation(node: Anvil, _: Deposit, caller: FundedAccount) -> None:
    execute(node, caller, IMPLEMENTATION, SWEEP, USDC, thief(node).address)


@pytest.mark.parametrize("attack", [sweep_the_forwarder, sweep_to_the_destination, sweep_the_implementation])
@pytest.mark.parametrize("account", [0, 7, 8], ids=["deployer", "stranger", "thief"])
def test_nobody_but_the_factory_makes_a_forwarder_send(evm_node: Anvil, attack: Attack, account: int) -> None:
    deposit = paid_deposit(evm_node)
    flush(evm_node, stranger(evm_node), deposit, USDT)  # puts its code there
    with pytest.raises(NodeError, match="reverted"):
        attack(evm_node, deposit, evm_node.accounts[account])
    assert holdings(evm_node, USDC, deposit) == (1000, 0)
    assert balance_of(evm_node, USDC, thief(evm_node).address) == 0


def test_naming_another_destination_names_another_forwarder(evm_node: Anvil) -> None:
    deposit = paid_deposit(evm_node)
    robber = thief(evm_node)
    flush(evm_node, robber, Deposit(robber.address, deposit.nonce), USDC)
    assert holdings(evm_node, USDC, deposit) == (1000, 0)
    assert balance_of(evm_node, USDC, robber.address) == 0


def test_calling_a_forwarder_with_anything_else_moves_nothing(evm_node: Anvil) -> None:
    deposit = paid_deposit(evm_node)
    flush(evm_node, stranger(evm_node), deposit, USDT)
    robber = thief(evm_node)
    for signature in ("transfer(address,uint256)", "approve(address,uint256)"):
        execute(evm_node, robber, deposit.address, signature, robber.address, 1000)
    pull = "transferFrom(address,address,uint256)"
    with pytest.raises(NodeError, match="reverted"):
        execute(evm_node, robber, USDC, pull, deposit.address, robber.address, 1)
    assert holdings(evm_node, USDC, deposit) == (1000, 0)


def test_a_flush_by_a_front_runner_pays_the_destination_all_the_same(evm_node: Anvil) -> None:
    deposit = paid_deposit(evm_node)
    flush(evm_node, thief(evm_node), deposit, USDC)
    flush(evm_node, stranger(evm_node), deposit, USDC)
    assert holdings(evm_node, USDC, deposit) == (0, 1000)


def test_a_malicious_token_takes_nothing_from_inside_its_transfer(evm_node: Anvil) -> None:
    deposit = paid_deposit(evm_node, units=500)
    robber = thief(evm_node).address
    kinds = ["address", "address", "address", "address", "bytes32"]
    arguments = encode_arguments(kinds, FACTORY, USDC, robber, deposit.destination, deposit.nonce)
    evil = deploy_contract(evm_node, "EvilToken", arguments=arguments)
    flush(evm_node, thief(evm_node), deposit, evil)
    assert int(read(evm_node, evil, "attempts()"), 16) == 1
    assert int(read(evm_node, evil, "thefts()"), 16) == 0
    assert balance_of(evm_node, USDC, robber) == 0
    # Its honest re-entry worked, and paid whom it had to.
    assert int(read(evm_node, evil, "reentrancies()"), 16) == 1
    assert holdings(evm_node, USDC, deposit) == (0, 500)


def test_a_token_that_answers_false_has_not_paid(evm_node: Anvil) -> None:
    deposit = paid_deposit(evm_node)
    execute(evm_node, evm_node.accounts[0], USDC, "set_refuses(bool)", True)
    with pytest.raises(NodeError, match="reverted"):
        flush(evm_node, stranger(evm_node), deposit, USDC)
    assert evm_node.code(deposit.address) == b""
    assert holdings(evm_node, USDC, deposit) == (1000, 0)


def test_an_address_without_code_is_no_token(evm_node: Anvil) -> None:
    with pytest.raises(NodeError, match="reverted"):
        flush(evm_node, stranger(evm_node), new_deposit(), evm_node.accounts[9].address)


def test_one_bad_item_does_not_stop_a_batch(evm_node: Anvil) -> None:
    deposits = [paid_deposit(evm_node, units=9) for _ in range(4)]
    bad = deposits[1]
    block = "set_blocked(address,bool)"
    execute(evm_node, evm_node.accounts[0], USDC, block, bad.destination, True)
    receipt = flush_many(evm_node, stranger(evm_node), deposits, USDC)
    assert failed(receipt) == [bad.address]
    assert emptied(receipt, USDC) == [d.address for d in deposits if d is not bad]
    assert [holdings(evm_node, USDC, d) for d in deposits] == [(0, 9), (9, 0), (0, 9), (0, 9)]
    # Once the issuer lets go, the same money is still there for the same destination.
    execute(evm_node, evm_node.accounts[0], USDC, block, bad.destination, False)
    flush_many(evm_node, stranger(evm_node), deposits, USDC)
    assert holdings(evm_node, USDC, bad) == (0, 9)


def test_a_token_that_burns_all_gas_costs_a_batch_a_bounded_amount(base_node: Anvil) -> None:
    deposits = [paid_deposit(base_node, units=9) for _ in range(3)]
    execute(base_node, base_node.accounts[0], USDC, "set_rounds(uint256)", 10**6)
    receipt = flush_many(base_node, stranger(base_node), deposits, USDC)
    assert failed(receipt) == [deposit.address for deposit in deposits]
    assert int(receipt["gasUsed"], 16) < 3 * 400_000


def test_an_item_named_twice_is_paid_once(evm_node: Anvil) -> None:
    deposit = paid_deposit(evm_node, units=3)
    receipt = flush_many(evm_node, stranger(evm_node), [deposit, deposit], USDC)
    assert holdings(evm_node, USDC, deposit) == (0, 3)
    assert emptied(receipt, USDC) == [deposit.address]
    assert failed(receipt) == []


def test_a_batch_for_one_merchant_adds_up(evm_node: Anvil) -> None:
    wallet = new_deposit().destination
    deposits = [new_deposit(wallet) for _ in range(10)]
    for units, deposit in enumerate(deposits, start=1):
        mint(evm_node, USDT, deposit.address, units)
    flush_many(evm_node, stranger(evm_node), deposits, USDT)
    assert balance_of(evm_node, USDT, wallet) == 55


def test_a_full_batch_fits_into_a_transaction_and_one_more_item_is_refused(base_node: Anvil) -> None:
    deposits = [new_deposit() for _ in range(150)]
    for deposit in deposits:
        mint(base_node, USDC, deposit.address, 9)
    receipt = flush_many(base_node, stranger(base_node), deposits, USDC)
    assert emptied(receipt, USDC) == [deposit.address for deposit in deposits]
    assert int(receipt["gasUsed"], 16) < 2**24  # a transaction's cap by EIP-7825
    with pytest.raises(NodeError, match="reverted"):
        flush_many(base_node, stranger(base_node), [*deposits, new_deposit()], USDC)


def test_a_first_deposit_in_a_full_batch_to_one_wallet_costs_at_most_53_000_gas(base_node: Anvil) -> None:
    """The token looks at its list of blocked addresses, as USDC does; without that it is 2,500 less."""
    token = deploy_contract(base_node, "Usdc")
    mint(base_node, token, payer(base_node).address, 150)
    wallet = new_deposit().destination
    deposits = [new_deposit(wallet) for _ in range(150)]
    payments = [(deposit.address, 1) for deposit in deposits]
    transfer_many(base_node, payer(base_node), token, payments)
    receipt = flush_many(base_node, stranger(base_node), deposits, token)
    assert balance_of(base_node, token, wallet) == 150
    assert int(receipt["gasUsed"], 16) <= 150 * 53_000


def test_no_gas_limit_makes_a_batch_succeed_without_paying(base_node: Anvil) -> None:
    deposit = paid_deposit(base_node)
    # The more a token needs, the more is left to finish a starved batch with (EIP-150).
    execute(base_node, base_node.accounts[0], USDC, "set_rounds(uint256)", ROUNDS)
    outcomes = set()
    for gas in range(60_000, 500_000, 5_000):
        with base_node.rolled_back():
            outcomes.add(_batch_outcome(base_node, deposit, gas=gas))
    assert outcomes == {"reverted, unpaid", "succeeded, paid"}


def test_the_gas_a_node_estimates_for_a_batch_pays_all_of_it(evm_node: Anvil) -> None:
    deposits = [paid_deposit(evm_node, units=9) for _ in range(5)]
    call = {"from": stranger(evm_node).address, "to": FACTORY, "data": _batch_data(deposits)}
    estimate = int(evm_node.rpc("eth_estimateGas", call), 16)
    flush_many(evm_node, stranger(evm_node), deposits, USDC, gas=estimate)
    assert [holdings(evm_node, USDC, d) for d in deposits] == [(0, 9)] * 5


def test_native_coin_reaches_the_destination_before_and_after_deployment(evm_node: Anvil) -> None:
    deposit = new_deposit()
    for total in (10, 20):
        tx_hash = evm_node.send(payer(evm_node), to=deposit.address, value=10)
        assert evm_node.receipt(tx_hash)["status"] == "0x1"
        flush(evm_node, stranger(evm_node), deposit, NATIVE_COIN)
        assert evm_node.balance(deposit.destination) == total
        assert evm_node.balance(deposit.address) == 0


def test_native_coin_in_a_batch_passes_a_destination_that_refuses_it(evm_node: Anvil) -> None:
    refusing, willing = new_deposit(USDC), new_deposit()  # a token takes no native coin
    for deposit in (refusing, willing):
        evm_node.send(payer(evm_node), to=deposit.address, value=10)
    receipt = flush_many(evm_node, stranger(evm_node), [refusing, willing], NATIVE_COIN)
    assert failed(receipt) == [refusing.address]
    assert evm_node.balance(willing.destination) == 10
    assert evm_node.balance(refusing.address) == 10


def _batch_outcome(node: Anvil, deposit: Deposit, *, gas: int) -> str:
    try:
        flush_many(node, stranger(node), [deposit], USDC, gas=gas)
    except NodeError:
        status = "reverted"
    else:
        status = "succeeded"
    paid = holdings(node, USDC, deposit) == (0, 1000)
    return f"{status}, {'paid' if paid else 'unpaid'}"


def _batch_data(deposits: list[Deposit]) -> str:
    items = [(deposit.destination, deposit.nonce) for deposit in deposits]
    return "0x" + encode_call(FLUSH_MANY, items, USDC).hex()
