"""Whatever anybody calls, in whatever order: a forwarder's tokens and coin move to its destination or not at all.

Six accounts call everything there is. Some flush a token that takes the forwarder by surprise: from inside its own
transfer it tries to take the good ones, and enters the factory again for whoever made it.
"""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from localnet.abi import encode_arguments
from localnet.anvil import Anvil, FundedAccount
from localnet.errors import NodeError
from localnet.funding import payer
from localnet.tokens import balance_of, deploy_contract, execute, token_address, transfer
from tests.exhaustive import EXHAUSTIVE
from tests.nodes.forwarders import FACTORY, FLUSH, FLUSH_MANY, NATIVE_COIN, Deposit
from tests.wallets.vyper import needs_vyper
from wallets.forwarders.addresses import FACTORY_ADDRESS, IMPLEMENTATION_ADDRESS, checksum
from wallets.forwarders.contracts.compile import compile_contract
from wallets.forwarders.factory import CONTRACTS

TOKENS = [token_address("USDC"), token_address("USDT")]
CALLERS = range(2, 8)
MERCHANTS = [checksum(bytes([0xAA, number]) + bytes(18)) for number in range(2)]
NONCE = bytes(32)
DEPOSITS = [Deposit(merchant, NONCE) for merchant in MERCHANTS]

deposits = st.sampled_from(DEPOSITS)
tokens = st.sampled_from(TOKENS)
assets = st.sampled_from([*TOKENS, NATIVE_COIN])
callers = st.sampled_from(CALLERS)
units = st.integers(1, 10**6)


class Attacks(RuleBasedStateMachine):
    """Buyers pay forwarders; a handful of accounts call everything there is, naming themselves where they can."""

    node: Anvil

    def __init__(self) -> None:
        super().__init__()
        self.snapshot = self.node.snapshot()
        self.before = {who: self._holdings(who) for who in self._callers()}
        self.paid: Counter[tuple[Deposit, str]] = Counter()
        for deposit in DEPOSITS:
            for token in TOKENS:
                self.pay(deposit, token, 1000)
        # One forwarder has code from the start, the other has none yet.
        self.flush(CALLERS[0], DEPOSITS[0], NATIVE_COIN)
        self.evil = [self._deploy_evil(deposit) for deposit in DEPOSITS]
        self.coin = {who: self.node.balance(who) for who in self._callers()}

    def teardown(self) -> None:
        self.node.roll_back(self.snapshot)

    @rule(deposit=deposits, token=tokens, amount=units)
    def pay(self, deposit: Deposit, token: str, amount: int) -> None:
        transfer(self.node, payer(self.node), token, deposit.address, amount)
        self.paid[deposit, token] += amount

    @rule(deposit=deposits, amount=units)
    def pay_coin(self, deposit: Deposit, amount: int) -> None:
        sent = self.node.send(payer(self.node), to=deposit.address, value=amount)
        self.node.receipt(sent)
        self.paid[deposit, NATIVE_COIN] += amount

    @rule(caller=callers, deposit=deposits, evil=st.sampled_from([0, 1]))
    def flush_evil(self, caller: int, deposit: Deposit, evil: int) -> None:
        token = self.evil[evil]
        self._attempt(caller, FACTORY, FLUSH, deposit.destination, deposit.nonce, token)

    @rule(caller=callers, deposit=deposits, token=assets)
    def flush(self, caller: int, deposit: Deposit, token: str) -> None:
        self._attempt(caller, FACTORY, FLUSH, deposit.destination, deposit.nonce, token)

    @rule(caller=callers, deposit=deposits, token=assets)
    def flush_to_oneself(self, caller: int, deposit: Deposit, token: str) -> None:
        self._attempt(caller, FACTORY, FLUSH, self._account(caller).address, deposit.nonce, token)

    @rule(
        caller=callers,
        some=st.lists(deposits, max_size=4),
        own=st.booleans(),
        token=assets,
        gas=st.integers(50_000, 3_000_000),
    )
    def flush_many(self, caller: int, some: list[Deposit], own: bool, token: str, gas: int) -> None:
        items = [(deposit.destination, deposit.nonce) for deposit in some]
        items += [(self._account(caller).address, NONCE)] * own
        self._attempt(caller, FACTORY, FLUSH_MANY, items, token, gas=gas)

    @rule(caller=callers, deposit=deposits, token=assets, at_implementation=st.booleans())
    def sweep(self, caller: int, deposit: Deposit, token: str, at_implementation: bool) -> None:
        target = checksum(IMPLEMENTATION_ADDRESS) if at_implementation else deposit.address
        thief = self._account(caller).address
        self._attempt(caller, target, "sweep(address,address)", token, thief)

    @rule(caller=callers, deposit=deposits, token=tokens, amount=units)
    def pull(self, caller: int, deposit: Deposit, token: str, amount: int) -> None:
        thief = self._account(caller).address
        self._attempt(caller, deposit.address, "approve(address,uint256)", thief, amount)
        signature = "transferFrom(address,address,uint256)"
        self._attempt(caller, token, signature, deposit.address, thief, amount)

    @rule(caller=callers, contract=st.sampled_from([FACTORY, *(d.address for d in DEPOSITS)]))
    def call_nonsense(self, caller: int, contract: str) -> None:
        self._attempt(caller, contract, "initialize(address)", self._account(caller).address)

    @invariant()
    def every_unit_is_at_its_forwarder_or_its_destination(self) -> None:
        for asset in (*TOKENS, NATIVE_COIN):
            for merchant in MERCHANTS:
                own = [d for d in DEPOSITS if d.destination == merchant]
                left = {d: self._held(asset, d.address) for d in own}
                assert all(left[d] <= self.paid[d, asset] for d in own)
                total = sum(left.values()) + self._held(asset, merchant)
                assert total == sum(self.paid[d, asset] for d in own)

    @invariant()
    def no_caller_has_gained_anything(self) -> None:
        assert {who: self._holdings(who) for who in self._callers()} == self.before
        # They pay for gas, and get nothing back.
        assert all(self.node.balance(who) <= coin for who, coin in self.coin.items())

    def _attempt(self, caller: int, target: str, signature: str, *arguments: object, gas: int = 1_000_000) -> None:
        try:
            execute(self.node, self._account(caller), target, signature, *arguments, gas=gas)
        except NodeError:
            return  # refused or reverted: the invariants say whether that matters

    def _deploy_evil(self, deposit: Deposit) -> str:
        """A token that robs a deposit address, for the last of the callers, when it is flushed there."""
        kinds = ["address", "address", "address", "address", "bytes32"]
        robber = self._callers()[-1]
        arguments = encode_arguments(kinds, FACTORY, TOKENS[0], robber, deposit.destination, deposit.nonce)
        return deploy_contract(self.node, "EvilToken", arguments=arguments)

    def _held(self, asset: str, who: str) -> int:
        if asset == NATIVE_COIN:
            return self.node.balance(who)
        return balance_of(self.node, asset, who)

    def _account(self, caller: int) -> FundedAccount:
        return self.node.accounts[caller]

    def _callers(self) -> list[str]:
        return [self._account(caller).address for caller in CALLERS]

    def _holdings(self, who: str) -> list[int]:
        return [balance_of(self.node, token, who) for token in TOKENS]


def fuzz(node: Anvil, *, examples: int) -> None:
    """Run the machine; raises AssertionError when an invariant breaks."""
    Attacks.node = node
    chosen = settings(
        max_examples=examples,
        stateful_step_count=25,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(Attacks, settings=chosen)


@pytest.mark.slow
@pytest.mark.unmeasured
def test_no_sequence_of_calls_moves_a_deposit_anywhere_but_its_destination(base_node: Anvil) -> None:
    fuzz(base_node, examples=45 if EXHAUSTIVE else 6)


@needs_vyper
@pytest.mark.slow
@pytest.mark.unmeasured
def test_the_fuzz_finds_a_forwarder_that_does_not_check_its_caller(base_node: Anvil, tmp_path: Path) -> None:
    source = (CONTRACTS / "Forwarder.vy").read_text()
    guard = '    assert msg.sender == FACTORY, "factory only"\n'
    careless = tmp_path / "Careless.vy"
    careless.write_text(source.replace(guard, ""))
    code = compile_contract(careless)["runtime"] + (bytes(12) + FACTORY_ADDRESS).hex()
    base_node.rpc("anvil_setCode", checksum(IMPLEMENTATION_ADDRESS), code)
    with pytest.raises(AssertionError):
        fuzz(base_node, examples=50)
