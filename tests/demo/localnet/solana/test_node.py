"""The local Solana node does what the other tests rely on, asked by the client library that others use."""

import time
from typing import Any

import pytest
from solana.rpc.async_api import AsyncClient
from solana.rpc.commitment import Confirmed
from solders.pubkey import Pubkey
from solders.signature import Signature

from demo.localnet.errors import NodeError
from demo.localnet.solana.node import PAYER_UNITS, SolanaNode
from tests.demo.localnet.solana.questions import ask
from tests.waiting import wait_until


def test_the_client_library_sends_and_finds_a_payment(solana_node: SolanaNode, solana_owner: str) -> None:
    signature = Signature.from_string(solana_node.pay(solana_owner, 25, memo="a memo"))
    account = Pubkey.from_string(solana_node.token_account(solana_owner))

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
    assert abs(at - time.time()) < 60
    assert str(genesis) == solana_node.rpc("getGenesisHash")
    assert recent.last_valid_block_height >= slot + 150
    assert version.solana_core
    assert epoch.absolute_slot >= slot
    assert healthy


def test_slots_pass_by_themselves_and_time_is_real(solana_node: SolanaNode) -> None:
    first = solana_node.slot()
    wait_until(lambda: solana_node.slot() >= first + 2, pause=0.1)
    latest = solana_node.slot()
    assert abs(solana_node.rpc("getBlockTime", latest) - time.time()) < 60


def test_a_transaction_is_processed_then_confirmed_then_finalized(solana_node: SolanaNode, solana_owner: str) -> None:
    signature = solana_node.pay(solana_owner, 1)

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
    slots = [solana_node.slot(level) for level in ("finalized", "confirmed", "processed")]
    assert slots[0] + 32 <= slots[1]
    assert slots[1] + 1 <= slots[2]


def test_a_skipped_slot_has_no_block(solana_node: SolanaNode) -> None:
    last = solana_node.skip(3)
    for slot in range(last - 2, last + 1):
        with pytest.raises(NodeError, match="skipped"):
            solana_node.rpc("getBlockTime", slot)
    assert solana_node.rpc("getBlockTime", last - 3)
    assert solana_node.rpc("getBlockTime", last + 1)
    assert solana_node.slot("confirmed") not in range(last - 2, last + 1)


def test_another_chain_begins_after_a_reset(solana_node: SolanaNode, solana_owner: str) -> None:
    genesis = solana_node.rpc("getGenesisHash")
    solana_node.pay(solana_owner, 5)
    solana_node.reset()
    assert solana_node.rpc("getGenesisHash") != genesis
    assert solana_node.balance(solana_owner) == 0
    assert solana_node.balance(str(solana_node.payer.pubkey())) == PAYER_UNITS
