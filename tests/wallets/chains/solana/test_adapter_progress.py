"""What payers and nodes do to a Solana account so that it is read no further, or read past something: neither works."""

from dataclasses import replace
from typing import Any

import pytest

from localnet.solana.node import SolanaNode
from tests.chains import OpenReader
from tests.nodes import proxy as faults
from tests.nodes.proxy import RpcProxy
from tests.wallets.chains.solana.reading import account_of, new_owner, read_one, solana_spec, units_of
from wallets.chains.base import ChainUnavailableError
from wallets.chains.family import Network
from wallets.chains.registry import open_pool
from wallets.chains.rpc.pool import RpcPool
from wallets.chains.solana.adapter import SolanaAdapter


def test_a_transaction_of_a_version_yet_to_come_holds_up_nothing(
    solana_node: SolanaNode, solana_proxy: RpcProxy, open_on: OpenReader, solana_owner: str
) -> None:
    """Whoever pays chooses the version. What a node tells of it is checked like any other."""
    solana_node.pay(solana_owner, 5)
    solana_node.pay(solana_owner, 6)
    [older, newer] = read_one(open_on(), solana_owner)

    def answer(request: Any, ask: faults.Ask) -> Any:
        told = ask(request)
        if request["method"] != "getTransaction" or request["params"][0] != newer.tx_hash:
            return told
        if request["params"][1]["maxSupportedTransactionVersion"] < 1:
            refusal = "Transaction version (1) is not supported by the requesting client."
            return told | {"result": None, "error": {"code": -32015, "message": refusal}}
        return told | {"result": told["result"] | {"version": 1}}

    solana_proxy.fault = faults.one_by_one(answer)
    assert read_one(open_on(solana_proxy.url), solana_owner) == [older, newer]


def test_after_a_long_silence_a_node_that_kept_too_little_is_not_believed(
    solana_node: SolanaNode, solana_proxy: RpcProxy, solana_owner: str
) -> None:
    """A node begun anew from a snapshot lists what it has as if that were all."""
    spec = replace(solana_spec(solana_proxy.url), network=Network.MAINNET)
    reader = SolanaAdapter(spec, RpcPool([solana_proxy.url]))
    known = replace(account_of(solana_owner), height=reader.head().block.height)
    solana_node.pay(solana_owner, 5)
    solana_node.advance(20_000)
    head = reader.head()
    solana_proxy.fault = _keeping_from(known.height + 2)
    with pytest.raises(ChainUnavailableError, match="keeps nothing"):
        reader.read_accounts([known], head=head)
    solana_proxy.fault = _keeping_from(known.height + 1)
    [reading] = reader.read_accounts([known], head=head)
    assert units_of(reading.transfers) == [5]
    # Who was read within the hour is not asked about.
    before = reader.requests
    reader.read_accounts([replace(known, height=head.block.height)], head=head)
    assert reader.requests - before == 1
    reader.close()


def test_an_account_that_somebody_floods_is_read_in_parts_and_loses_nothing(
    solana_node: SolanaNode, solana_owner: str
) -> None:
    spec = solana_spec(solana_node.url)
    spec = replace(spec, tokens={"USDC": spec.tokens["USDC"]})
    reader = SolanaAdapter(spec, open_pool(spec), most=2)
    flooded = replace(account_of(solana_owner), height=reader.head().block.height)
    other = account_of(new_owner())
    for units in range(1, 8):
        solana_node.pay(solana_owner, units)
        solana_node.advance(2)
    solana_node.pay(other.address, 5)
    head, seen = reader.head(), []
    for _ in range(10):
        before = reader.requests
        told, untouched = reader.read_accounts([flooded, other], head=head)
        assert reader.requests - before <= 1 + 2 + 2 + 1
        seen += [one.units for one in told.transfers if one.units not in seen]
        assert (told.through.height < head.block.height) is (len(seen) < 7)
        assert told.through.time <= head.block.time
        assert (units_of(untouched.transfers), untouched.through) == ([5], head.block)
        flooded = replace(flooded, height=told.through.height, time=told.through.time)
    assert seen == [1, 2, 3, 4, 5, 6, 7]
    reader.close()


def test_an_account_that_is_worth_few_requests_takes_no_more_and_comes_on(
    solana_node: SolanaNode, open_on: OpenReader, solana_owner: str
) -> None:
    busy = replace(account_of(solana_owner), most=2)
    for units in range(1, 6):
        solana_node.pay(solana_owner, units)
    reader = open_on()
    head, seen = reader.head(), []
    read_one(reader, new_owner())
    while busy.height < head.block.height:
        before, known = reader.requests, busy.height
        [told] = reader.read_accounts([busy], head=head)
        assert reader.requests - before <= 1 + 2
        assert known < told.through.height
        seen += units_of(told.transfers)
        busy = replace(busy, height=told.through.height, time=told.through.time)
    assert set(seen) == {1, 2, 3, 4, 5}
    with pytest.raises(ChainUnavailableError, match="more transactions than"):
        open_on(page=2).read_accounts([replace(account_of(solana_owner), most=2)], head=head)


def _keeping_from(slot: int) -> faults.Fault:
    return faults.results(lambda method, told: slot if method == "getFirstAvailableBlock" else told)
