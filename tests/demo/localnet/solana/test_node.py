"""The local Solana node does what the other tests rely on, asked by the client library that others use."""

import asyncio
import http.client
import json
import socket
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from solana.rpc.async_api import AsyncClient
from solana.rpc.commitment import Confirmed
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from demo.localnet.errors import (
    NodeError,
    NodeStartError,
)
from demo.localnet.solana import programs
from demo.localnet.solana.node import (
    PAYER_UNITS,
    USDC,
    Format,
    Payment,
    SolanaNode,
)
from tests.waiting import wait_until

CONFIRMED = {"commitment": "confirmed"}


@pytest.fixture
def owner() -> str:
    return str(Keypair().pubkey())


def ask(node: SolanaNode, question: Callable[[AsyncClient], Awaitable[Any]]) -> Any:
    """Ask with the client library."""

    async def run() -> Any:
        async with AsyncClient(node.url) as client:
            return await question(client)

    return asyncio.run(run())


def transaction(node: SolanaNode, signature: str, **options: Any) -> Any:
    """A confirmed transaction as JSON."""
    asked = CONFIRMED | {"maxSupportedTransactionVersion": 0} | options
    return node.rpc("getTransaction", signature, asked)


def listed(node: SolanaNode, owner: str, **options: Any) -> list[str]:
    """The signatures listed of an owner's USDC account."""
    account = node.token_account(owner)
    entries = node.rpc("getSignaturesForAddress", account, CONFIRMED | options)
    return [entry["signature"] for entry in entries]


def test_the_client_library_sends_and_finds_a_payment(
    solana_node: SolanaNode, owner: str
) -> None:
    signature = Signature.from_string(solana_node.pay(owner, 25, memo="a memo"))
    account = Pubkey.from_string(solana_node.token_account(owner))

    async def questions(client: AsyncClient) -> Any:
        return (
            await client.get_signatures_for_address(account, commitment=Confirmed),
            await client.get_transaction(signature, "jsonParsed", Confirmed),
            await client.get_signature_statuses([signature]),
            await client.get_token_account_balance(account, Confirmed),
        )

    listing, found, statuses, balance = ask(solana_node, questions)
    [entry] = listing.value
    assert (entry.signature, entry.err, entry.memo) == (signature, None, "[6] a memo")
    balances = found.value.transaction.meta.post_token_balances
    amounts = {one.ui_token_amount.amount for one in balances}
    assert amounts == {"25", str(PAYER_UNITS - 25)}
    assert statuses.value[0].slot == found.value.slot == entry.slot
    assert balance.value.amount == "25"


def test_the_client_library_reads_the_chain_itself(solana_node: SolanaNode) -> None:
    async def questions(client: AsyncClient) -> Any:
        slot = (await client.get_slot(Confirmed)).value
        return (
            slot,
            (await client.get_block_time(slot)).value,
            (await client.get_genesis_hash()).value,
            (await client.get_latest_blockhash(Confirmed)).value,
            (await client.get_version()).value,
            (await client.get_epoch_info(Confirmed)).value,
            await client.is_connected(),
        )

    slot, at, genesis, recent, version, epoch, healthy = ask(solana_node, questions)
    assert abs(at - time.time()) < 5
    assert str(genesis) == solana_node.rpc("getGenesisHash")
    assert recent.last_valid_block_height >= slot + 150
    assert version.solana_core
    assert epoch.absolute_slot >= slot
    assert healthy


def test_slots_pass_by_themselves_and_time_is_real(solana_node: SolanaNode) -> None:
    first = solana_node.slot()
    wait_until(lambda: solana_node.slot() >= first + 2, seconds=5, pause=0.1)
    latest = solana_node.slot()
    assert abs(solana_node.rpc("getBlockTime", latest) - time.time()) < 3


def test_a_transaction_is_processed_then_confirmed_then_finalized(
    solana_node: SolanaNode, owner: str
) -> None:
    signature = solana_node.pay(owner, 1)

    def reached() -> str:
        [status] = solana_node.rpc("getSignatureStatuses", [signature])["value"]
        level: str = status["confirmationStatus"]
        return level

    assert reached() == "confirmed"
    finalized = {"commitment": "finalized", "maxSupportedTransactionVersion": 0}
    assert solana_node.rpc("getTransaction", signature, finalized) is None
    solana_node.finalize()
    assert reached() == "finalized"
    assert solana_node.rpc("getTransaction", signature, finalized)
    slots = [
        solana_node.slot(level) for level in ("finalized", "confirmed", "processed")
    ]
    assert slots[0] + 32 <= slots[1]
    assert slots[1] + 1 <= slots[2]


def test_what_is_not_confirmed_is_not_listed(
    solana_node: SolanaNode, owner: str
) -> None:
    signed = solana_node.sign(_payment(solana_node, owner), payer=solana_node.payer)
    sent = solana_node.submit(signed)
    [status] = solana_node.rpc("getSignatureStatuses", [sent])["value"]
    # Slots pass meanwhile: whoever sees it must be able to see that its slot is confirmed.
    is_listed, is_told = listed(solana_node, owner), transaction(solana_node, sent)
    if solana_node.slot("confirmed") < status["slot"]:
        assert (is_listed, is_told) == ([], None)
    solana_node.advance()
    assert listed(solana_node, owner) == [sent]


def _payment(node: SolanaNode, owner: str) -> Any:
    payer, mint = node.payer.pubkey(), Pubkey.from_string(USDC)
    to = Pubkey.from_string(owner)
    return [
        programs.create_account(payer, to, mint, program=programs.TOKEN),
        programs.transfer(
            programs.token_account(payer, mint),
            programs.token_account(to, mint),
            7,
            owner=payer,
            mint=mint,
            program=programs.TOKEN,
        ),
    ]


def test_commitment_below_confirmed_is_refused_where_nodes_refuse_it(
    solana_node: SolanaNode, owner: str
) -> None:
    with pytest.raises(NodeError, match="below `confirmed`"):
        listed(solana_node, owner, commitment="processed")


def test_a_node_that_lacks_the_slot_asked_for_says_so(
    solana_node: SolanaNode, owner: str
) -> None:
    with pytest.raises(NodeError, match="Minimum context slot") as refused:
        listed(solana_node, owner, minContextSlot=solana_node.slot() + 1_000)
    assert refused.value.code == -32016
    assert refused.value.data["contextSlot"] > 0


def test_a_listing_is_paged_from_the_newest_down(
    solana_node: SolanaNode, owner: str
) -> None:
    sent = [solana_node.pay(owner, units) for units in range(1, 6)]
    newest_first = sent[::-1]
    assert listed(solana_node, owner) == newest_first
    assert listed(solana_node, owner, limit=2) == newest_first[:2]
    assert listed(solana_node, owner, before=sent[3], limit=2) == newest_first[2:4]
    assert listed(solana_node, owner, until=sent[1]) == newest_first[:3]
    assert listed(solana_node, owner, before="1" * 64) == []
    with pytest.raises(NodeError, match="max 1000"):
        listed(solana_node, owner, limit=1_001)


def test_preflight_refuses_what_would_fail(solana_node: SolanaNode, owner: str) -> None:
    with pytest.raises(NodeError, match="simulation failed") as refused:
        solana_node.pay(owner, 2 * PAYER_UNITS)
    assert refused.value.data["err"] == {"InstructionError": [1, {"Custom": 1}]}
    assert listed(solana_node, owner) == []


def test_without_preflight_a_failed_transaction_lands_and_moves_nothing(
    solana_node: SolanaNode, owner: str
) -> None:
    failed = solana_node.fail(owner, 5)
    assert transaction(solana_node, failed)["meta"]["err"] is not None
    assert listed(solana_node, owner) == [failed]
    assert solana_node.balance(owner) == 0


def test_a_transaction_lands_once(solana_node: SolanaNode, owner: str) -> None:
    signed = solana_node.sign(_payment(solana_node, owner), payer=solana_node.payer)
    ask(solana_node, lambda client: client.send_raw_transaction(bytes(signed)))
    with pytest.raises(NodeError, match="AlreadyProcessed"):
        solana_node.submit(signed)


def test_an_old_blockhash_is_refused(solana_node: SolanaNode, owner: str) -> None:
    signed = solana_node.sign(_payment(solana_node, owner), payer=solana_node.payer)
    solana_node.advance(200)
    with pytest.raises(NodeError, match="BlockhashNotFound"):
        solana_node.submit(signed)


def test_a_signature_by_somebody_else_is_refused(
    solana_node: SolanaNode, owner: str
) -> None:
    signed = solana_node.sign(_payment(solana_node, owner), payer=solana_node.payer)
    forged = bytearray(bytes(signed))
    forged[10] ^= 1
    with pytest.raises(NodeError, match="Signature verification failure"):
        solana_node.submit(VersionedTransaction.from_bytes(bytes(forged)))


def test_a_versioned_transaction_is_told_only_to_who_asks_for_it(
    solana_node: SolanaNode, owner: str
) -> None:
    sent = solana_node.pay_all([Payment(owner, 3)], written=Format(version=0))
    assert transaction(solana_node, sent)["version"] == 0
    with pytest.raises(NodeError, match="version") as refused:
        solana_node.rpc("getTransaction", sent, CONFIRMED)
    assert refused.value.code == -32015


def test_a_lookup_table_brings_accounts_that_the_message_does_not_name(
    solana_node: SolanaNode, owner: str
) -> None:
    account, reference = solana_node.token_account(owner), str(Keypair().pubkey())
    table = solana_node.create_lookup_table([account, reference])
    sent = solana_node.pay_all(
        [Payment(owner, 3, references=[reference])], written=Format(0, [table])
    )
    found = transaction(solana_node, sent)
    assert found["meta"]["loadedAddresses"] == {
        "writable": [account],
        "readonly": [reference],
    }
    assert account not in found["transaction"]["message"]["accountKeys"]
    keys = transaction(solana_node, sent, encoding="jsonParsed")["transaction"][
        "message"
    ]["accountKeys"]
    told = {key["pubkey"]: (key["writable"], key["source"]) for key in keys}
    assert told[account] == (True, "lookupTable")
    assert told[reference] == (False, "lookupTable")
    assert listed(solana_node, owner) == [sent]


def test_a_rollback_undoes_what_happened_and_a_forked_transaction_can_land_again(
    solana_node: SolanaNode, owner: str
) -> None:
    first = solana_node.pay(owner, 5)
    solana_node.advance(100)
    signed = solana_node.sign(_payment(solana_node, owner), payer=solana_node.payer)
    second = solana_node.submit(signed)
    slot = solana_node.slot()
    assert solana_node.rollback(after=slot - 50) == [second]
    assert solana_node.slot() >= slot
    assert solana_node.balance(owner) == 5
    assert solana_node.rpc("getSignatureStatuses", [second])["value"] == [None]
    solana_node.submit(signed)
    solana_node.advance()
    assert listed(solana_node, owner) == [second, first]
    assert solana_node.balance(owner) == 12


def test_a_rewound_node_has_a_lower_head(solana_node: SolanaNode, owner: str) -> None:
    solana_node.advance(50)
    sent = solana_node.pay(owner, 5)
    before = solana_node.slot()
    assert solana_node.rewind(to=before - 20) == [sent]
    assert solana_node.slot() < before
    assert solana_node.balance(owner) == 0


def test_a_skipped_slot_has_no_block(solana_node: SolanaNode) -> None:
    last = solana_node.skip(3)
    for slot in range(last - 2, last + 1):
        with pytest.raises(NodeError, match="skipped"):
            solana_node.rpc("getBlockTime", slot)
    assert solana_node.rpc("getBlockTime", last - 3)
    assert solana_node.rpc("getBlockTime", last + 1)
    assert solana_node.slot("confirmed") not in range(last - 2, last + 1)


def test_questions_are_answered_in_batches(solana_node: SolanaNode) -> None:
    asked = [
        {"jsonrpc": "2.0", "id": 7, "method": "getHealth"},
        {"jsonrpc": "2.0", "id": 9, "method": "getNothing", "params": []},
    ]
    connection = http.client.HTTPConnection("127.0.0.1", solana_node.port)
    connection.request("POST", "/", json.dumps(asked))
    answers = json.loads(connection.getresponse().read())
    connection.close()
    assert answers[0] == {"jsonrpc": "2.0", "id": 7, "result": "ok"}
    assert (answers[1]["id"], answers[1]["error"]["code"]) == (9, -32601)


def test_wrong_parameters_are_an_error_that_says_so(solana_node: SolanaNode) -> None:
    questions: list[tuple[str, list[Any]]] = [
        ("getTransaction", ["1", {"encoding": "xml"}]),
        ("getBalance", ["no key"]),
        ("getSlot", [{"commitment": "sure"}]),
        ("sendTransaction", ["AAAA", {"encoding": "base64"}]),
    ]
    for method, params in questions:
        with pytest.raises(NodeError) as refused:
            solana_node.rpc(method, *params)
        assert refused.value.code == -32602


def test_another_chain_begins_after_a_reset(
    solana_node: SolanaNode, owner: str
) -> None:
    genesis = solana_node.rpc("getGenesisHash")
    solana_node.pay(owner, 5)
    solana_node.reset()
    assert solana_node.rpc("getGenesisHash") != genesis
    assert solana_node.balance(owner) == 0
    assert solana_node.balance(str(solana_node.payer.pubkey())) == PAYER_UNITS


def test_stopping_frees_the_port_and_a_taken_port_is_an_error() -> None:
    with SolanaNode() as node:
        port = node.port
        with pytest.raises(NodeStartError, match="in use"):
            SolanaNode(port=port).start()
        assert node.pid
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0
    node.stop()
