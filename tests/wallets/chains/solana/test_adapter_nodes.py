"""Solana nodes that fail, lag, lie or fork: what cannot be read is not read in part, and never taken for nothing."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from localnet.solana import programs
from localnet.solana.node import SolanaNode
from tests.chains import OpenReader
from tests.nodes import proxy as faults
from tests.nodes.proxy import RpcProxy
from tests.wallets.chains.solana.reading import account_of, new_owner, read, read_one, solana_spec, units_of
from wallets.chains.base import (
    BlockRef,
    ChainError,
    ChainMismatchError,
    ChainUnavailableError,
    MalformedAnswerError,
    ReorgDuringReadError,
)
from wallets.chains.family import Network
from wallets.chains.registry import open_pool
from wallets.chains.rpc.client import Node
from wallets.chains.solana.adapter import OVERLAP, SolanaAdapter, has_genesis


def test_a_node_behind_the_head_is_refused_instead_of_believed(
    solana_node: SolanaNode, reader: SolanaAdapter, solana_owner: str
) -> None:
    solana_node.advance(40)
    solana_node.pay(solana_owner, 5)
    head = reader.head()
    solana_node.rewind(to=solana_node.slot() - 20)
    with pytest.raises(ChainUnavailableError, match="Minimum context slot"):
        reader.read_accounts([account_of(solana_owner)], head=head)
    # Not asked for a slot, it tells what it has as if that were all.
    account = solana_node.token_account(solana_owner)
    confirmed = {"commitment": "confirmed"}
    assert solana_node.rpc("getSignaturesForAddress", account, confirmed) == []


@pytest.mark.parametrize(("overlap", "expected"), [(OVERLAP, [5]), (0, [])])
def test_a_payment_that_a_node_lists_late_is_found_only_by_reading_below_what_is_known(
    solana_node: SolanaNode,
    solana_proxy: RpcProxy,
    open_on: OpenReader,
    solana_owner: str,
    monkeypatch: pytest.MonkeyPatch,
    overlap: int,
    expected: list[int],
) -> None:
    monkeypatch.setattr("wallets.chains.solana.adapter.OVERLAP", overlap)
    solana_node.pay(solana_owner, 5)
    solana_node.advance(3)
    reader = open_on(solana_proxy.url)
    solana_proxy.fault = _answering("getSignaturesForAddress", [])
    [before] = reader.read_accounts([account_of(solana_owner)], head=reader.head())
    assert before.transfers == []
    solana_proxy.fault = faults.honest
    known = replace(account_of(solana_owner), height=before.through.height)
    [after] = reader.read_accounts([known], head=reader.head())
    assert units_of(after.transfers) == expected


def test_a_node_that_forgot_where_we_were_in_a_listing_does_not_end_it(
    solana_node: SolanaNode, solana_proxy: RpcProxy, open_on: OpenReader, solana_owner: str
) -> None:
    for units in range(1, 6):
        solana_node.pay(solana_owner, units)

    def forget(request: object, ask: faults.Ask) -> object:
        answer = ask(request)
        if "before" in str(request):
            answer["result"] = []
        return answer

    solana_proxy.fault = faults.one_by_one(forget)
    reader = open_on(solana_proxy.url, page=3)
    with pytest.raises(ReorgDuringReadError):
        read_one(reader, solana_owner)
    solana_proxy.fault = faults.honest
    assert units_of(read_one(reader, solana_owner)) == [1, 2, 3, 4, 5]


def test_a_payment_is_not_lost_while_one_node_knows_it_or_cannot_say(
    solana_node: SolanaNode, solana_proxy: RpcProxy, open_on: OpenReader, solana_owner: str
) -> None:
    reader = open_on(solana_node.url, solana_proxy.url)
    solana_node.pay(solana_owner, 5)
    found = read_one(reader, solana_owner)
    unknown = {"context": {"slot": 2_000_000}, "value": [None]}
    solana_proxy.fault = _answering("getSignatureStatuses", unknown)
    assert reader.lost(found) == [False]
    solana_node.rollback(after=solana_node.slot() - 50)
    assert reader.lost(found) == [True]
    behind = {"context": {"slot": 10}, "value": [None]}
    solana_proxy.fault = _answering("getSignatureStatuses", behind)
    assert reader.lost(found) == [False]
    solana_proxy.fault = _answering("getFirstAvailableBlock", 2_000_000)
    assert reader.lost(found) == [False]
    solana_proxy.fault = faults.limits_rate
    with pytest.raises(ChainUnavailableError):
        reader.lost(found)


def test_what_the_node_in_use_knows_is_not_lost_while_another_is_down(
    solana_node: SolanaNode, solana_proxy: RpcProxy, open_on: OpenReader, solana_owner: str
) -> None:
    """Otherwise nothing would become final anywhere, ten minutes long, because one of two nodes does not answer."""
    reader = open_on(solana_node.url, solana_proxy.url)
    solana_node.pay(solana_owner, 5)
    [found] = read_one(reader, solana_owner)
    solana_proxy.fault = faults.drops
    assert reader.lost([found]) == [False]
    with pytest.raises(ChainUnavailableError):
        reader.lost([found, replace(found, tx_hash="2" * 87)])


def test_whether_a_payment_is_lost_is_asked_of_a_nodes_whole_history(
    solana_node: SolanaNode, solana_proxy: RpcProxy, open_on: OpenReader, solana_owner: str
) -> None:
    """Without being asked so, a node looks at its last minutes alone: what is older would be taken for lost."""
    solana_node.pay(solana_owner, 5)
    reader, asked = open_on(solana_proxy.url), []

    def note(request: Any, ask: faults.Ask) -> Any:
        asked.extend([request["params"][1]] if request["method"] == "getSignatureStatuses" else [])
        return ask(request)

    found = read_one(reader, solana_owner)
    solana_proxy.fault = faults.one_by_one(note)
    assert reader.lost(found) == [False]
    assert asked == [{"searchTransactionHistory": True}]


def _answering(method: str, answer: object) -> faults.Fault:
    return faults.results(lambda asked, told: answer if asked == method else told)


def test_a_second_node_witnesses_what_is_final_there_and_nothing_else(
    solana_node: SolanaNode, solana_proxy: RpcProxy, open_on: OpenReader, solana_owner: str
) -> None:
    reader = open_on(solana_node.url, solana_proxy.url)
    solana_node.pay(solana_owner, 5)
    [transfer] = read_one(reader, solana_owner)
    assert reader.witness([transfer]) == [False]
    solana_node.finalize()
    assert reader.finalized() >= transfer.block_height
    changed = [
        replace(transfer, tx_hash="2" * 87),
        replace(transfer, units=6),
        replace(transfer, position=transfer.position + 1),
        replace(transfer, recipient=new_owner()),
        replace(transfer, block_height=transfer.block_height - 1),
        replace(transfer, token_address=new_owner()),
        replace(transfer, tx_hash=solana_node.pay(new_owner(), 5)),
    ]
    assert reader.witness([transfer, *changed]) == [True] + [False] * 7


def test_the_head_is_confirmed_and_final_at_once(solana_node: SolanaNode, reader: SolanaAdapter) -> None:
    earlier, finalized = solana_node.slot("confirmed"), reader.finalized()
    head = reader.head()
    assert earlier <= head.block.height <= solana_node.slot("confirmed")
    height = head.block.height
    assert head.block.time.timestamp() == solana_node.rpc("getBlockTime", height)
    assert reader.final_height(head, read_height=height) == height
    assert reader.final_height(head, read_height=height - 5) == height - 5
    assert head.agreed
    assert 0 < finalized <= height - 32


def test_a_head_far_behind_another_node_s_is_not_agreed_to(
    solana_node: SolanaNode, solana_proxy: RpcProxy, open_on: OpenReader
) -> None:
    solana_proxy.fault = _answering("getSlot", solana_node.slot() + 500)
    assert not open_on(solana_node.url, solana_proxy.url).head().agreed
    solana_proxy.fault = faults.drops
    assert open_on(solana_node.url, solana_proxy.url).head().agreed


def test_a_node_with_a_head_that_cannot_be_is_left_for_another(
    solana_node: SolanaNode, solana_proxy: RpcProxy, open_on: OpenReader
) -> None:
    reader = open_on(solana_proxy.url, solana_node.url)
    newest = reader.head().block
    refused: list[BlockRef] = []

    def check(block: BlockRef) -> None:
        if not refused:
            refused.append(block)
            raise MalformedAnswerError("too high")

    asked = solana_proxy.requests
    assert reader.head(check=check).block.height >= refused[0].height >= newest.height
    assert solana_proxy.requests == asked + 1


def test_skipped_slots_change_nothing(solana_node: SolanaNode, reader: SolanaAdapter, solana_owner: str) -> None:
    solana_node.pay(solana_owner, 5)
    solana_node.skip(30)
    solana_node.pay(solana_owner, 6)
    assert units_of(read_one(reader, solana_owner)) == [5, 6]


def test_a_chain_that_begins_anew_is_told_by_its_genesis(
    solana_node: SolanaNode, reader: SolanaAdapter, solana_owner: str
) -> None:
    before = reader.genesis()
    solana_node.pay(solana_owner, 5)
    assert read_one(reader, solana_owner)
    solana_node.reset()
    assert reader.genesis() != before
    assert read_one(reader, solana_owner) == []


@pytest.mark.parametrize("network", [Network.MAINNET, Network.TESTNET])
def test_a_local_node_is_not_taken_for_a_public_network(solana_node: SolanaNode, network: Network) -> None:
    identify = has_genesis(network)
    assert identify is not None
    with pytest.raises(ChainMismatchError):
        identify(Node(solana_node.url))
    assert has_genesis(Network.LOCAL) is None


def test_nodes_that_disagree_who_keeps_a_token_are_not_believed(
    solana_node: SolanaNode, solana_proxy: RpcProxy, open_on: OpenReader, solana_owner: str
) -> None:
    def lie(method: str, answer: object) -> object:
        if method == "getAccountInfo" and isinstance(answer, dict):
            answer["value"]["owner"] = str(programs.TOKEN_2022)
        return answer

    solana_proxy.fault = faults.results(lie)
    for urls in ((solana_proxy.url, solana_node.url), (solana_node.url, solana_proxy.url)):
        with pytest.raises(MalformedAnswerError, match="disagree"):
            read_one(open_on(*urls), solana_owner)


def test_a_token_that_is_not_there_is_no_empty_account(open_on: OpenReader, solana_owner: str) -> None:
    with pytest.raises(ChainUnavailableError):
        read_one(open_on(token=new_owner()), solana_owner)


def test_a_lie_is_not_remembered(
    solana_node: SolanaNode, solana_proxy: RpcProxy, open_on: OpenReader, solana_owner: str
) -> None:
    solana_node.pay(solana_owner, 5)
    other = solana_node.pay(new_owner(), 6)
    told = solana_node.rpc("getTransaction", other, {"commitment": "confirmed", "encoding": "json"})

    def lie(method: str, answer: Any) -> Any:
        if method != "getTransaction":
            return answer
        message = told["transaction"]["message"]
        return answer | {"transaction": answer["transaction"] | {"message": message}}

    reader = open_on(solana_proxy.url)
    solana_proxy.fault = faults.results(lie)
    with pytest.raises(MalformedAnswerError):
        read_one(reader, solana_owner)
    solana_proxy.fault = faults.honest
    assert units_of(read_one(reader, solana_owner)) == [5]


def test_a_node_that_takes_no_batches_is_asked_one_by_one(
    solana_node: SolanaNode, solana_proxy: RpcProxy, open_on: OpenReader
) -> None:
    owners = [new_owner(), new_owner(), new_owner()]
    for owner in owners:
        solana_node.pay(owner, 5)

    def refuse_batches(proxy: RpcProxy, request: faults.Request, ask: faults.Ask) -> faults.Answer:
        if not isinstance(request, list):
            return faults.honest(solana_proxy, request, ask)
        return faults.Answer(b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no batch"}}')

    solana_proxy.fault = refuse_batches
    found = read(open_on(solana_proxy.url), *owners)
    assert [units_of(transfers) for transfers in found] == [[5], [5], [5]]


def test_a_key_is_sent_in_the_header_that_providers_read(solana_proxy: RpcProxy) -> None:
    keys = ("the-key",)
    for family_keys, sent in ((keys, "the-key"), ((), None)):
        pool = open_pool(replace(solana_spec(solana_proxy.url), api_keys=family_keys))
        pool.call("getSlot", [])
        pool.close()
        assert solana_proxy.last_headers.get("x-api-key") == sent


LYING: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "a listing of another account": (
        "getSignaturesForAddress",
        lambda told: [entry | {"signature": "5" * 87} for entry in told],
    ),
    "another slot in the listing": (
        "getSignaturesForAddress",
        lambda told: [entry | {"slot": entry["slot"] - 1} for entry in told],
    ),
    "another slot in the transaction": ("getTransaction", lambda told: told | {"slot": told["slot"] + 1}),
    "no transaction": ("getTransaction", lambda told: None),
    "no time yet": ("getTransaction", lambda told: told | {"blockTime": None}),
    "no listing": ("getSignaturesForAddress", lambda told: None),
    "no clock": ("getAccountInfo", lambda told: None),
}


@pytest.mark.parametrize(("method", "change"), LYING.values(), ids=LYING)
def test_an_answer_that_fails_a_check_reads_nothing_and_the_truth_is_read_later(
    solana_node: SolanaNode,
    solana_proxy: RpcProxy,
    open_on: OpenReader,
    solana_owner: str,
    method: str,
    change: Callable[[Any], Any],
) -> None:
    reader = open_on(solana_proxy.url)
    solana_node.pay(solana_owner, 25)
    solana_proxy.fault = faults.results(lambda asked, told: change(told) if asked == method else told)
    with pytest.raises(ChainError):
        read_one(reader, solana_owner)
    solana_proxy.fault = faults.honest
    assert [transfer.units for transfer in read_one(reader, solana_owner)] == [25]


BROKEN: dict[str, faults.Fault] = {
    "half a batch": faults.answers_half_of_a_batch,
    "an error without a reason": faults.garbage(b'{"jsonrpc":"2.0","id":1,"error":{}}'),
    "throttled in the answer": faults.refuses(-32005, "rate limited"),
}


@pytest.mark.parametrize("fault", BROKEN.values(), ids=BROKEN)
def test_a_node_that_does_not_answer_properly_reads_nothing(
    solana_node: SolanaNode, solana_proxy: RpcProxy, open_on: OpenReader, solana_owner: str, fault: faults.Fault
) -> None:
    owners = [solana_owner, new_owner()]
    for one in owners:
        solana_node.pay(one, 25)
    reader = open_on(solana_proxy.url)
    head, accounts = reader.head(), [account_of(one) for one in owners]
    solana_proxy.fault = fault
    with pytest.raises(ChainError):
        reader.read_accounts(accounts, head=head)
    solana_proxy.fault = faults.honest
    found = read(open_on(solana_proxy.url), *owners)
    assert [units_of(transfers) for transfers in found] == [[25], [25]]
