"""The Solana node refuses what real ones refuse, in their words: a milder one would let tests pass that a real one fails."""

import asyncio
from typing import Any

import pytest
from solana.rpc.async_api import AsyncClient
from solana.rpc.commitment import Confirmed
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from localnet.errors import NodeError
from localnet.solana import programs
from localnet.solana.node import PAYER_UNITS, USDC, Format, Payment, SolanaNode

# One worker starts the node.
pytestmark = pytest.mark.xdist_group("solana")

CONFIRMED = {"commitment": "confirmed"}


@pytest.fixture
def solana_owner() -> str:
    """An address that nobody has used."""
    return str(Keypair().pubkey())


def test_solanas_client_library_sends_and_finds_a_payment(solana_node: SolanaNode, solana_owner: str) -> None:
    signature = Signature.from_string(solana_node.pay(solana_owner, 25, memo="a memo"))
    account = Pubkey.from_string(solana_node.token_account(solana_owner))

    async def questions() -> Any:
        async with AsyncClient(solana_node.url) as client:
            assert await client.is_connected()
            assert (await client.get_version()).value.solana_core
            slot = (await client.get_slot(Confirmed)).value
            recent = (await client.get_latest_blockhash(Confirmed)).value
            assert recent.last_valid_block_height >= slot + 150
            return (
                await client.get_signatures_for_address(account, commitment=Confirmed),
                await client.get_transaction(signature, "jsonParsed", Confirmed),
                await client.get_signature_statuses([signature]),
                await client.get_token_account_balance(account, Confirmed),
            )

    listing, found, statuses, balance = asyncio.run(questions())
    [entry] = listing.value
    assert (entry.signature, entry.err, entry.memo) == (signature, None, "[6] a memo")
    balances = found.value.transaction.meta.post_token_balances
    assert {one.ui_token_amount.amount for one in balances} == {"25", str(PAYER_UNITS - 25)}
    assert statuses.value[0].slot == found.value.slot == entry.slot
    assert balance.value.amount == "25"


def solana_payment(node: SolanaNode, owner: str) -> Any:
    """A signed payment of 7 units."""
    sender, mint, to = node.payer.pubkey(), Pubkey.from_string(USDC), Pubkey.from_string(owner)
    source, target = programs.token_account(sender, mint), programs.token_account(to, mint)
    create = programs.create_account(sender, to, mint, program=programs.TOKEN)
    move = programs.transfer(source, target, 7, owner=sender, mint=mint, program=programs.TOKEN)
    return node.sign([create, move], payer=node.payer)


def test_solana_takes_a_signed_transaction_once_while_it_is_fresh(solana_node: SolanaNode, solana_owner: str) -> None:
    stale = solana_payment(solana_node, solana_owner)
    solana_node.advance(200)
    with pytest.raises(NodeError, match="BlockhashNotFound"):
        solana_node.submit(stale)
    signed = solana_payment(solana_node, solana_owner)
    forged = bytearray(bytes(signed))
    forged[10] ^= 1
    with pytest.raises(NodeError, match="Signature verification failure"):
        solana_node.submit(VersionedTransaction.from_bytes(bytes(forged)))
    solana_node.submit(signed)
    with pytest.raises(NodeError, match="AlreadyProcessed"):
        solana_node.submit(signed)
    with pytest.raises(NodeError, match="simulation failed") as refused:
        solana_node.pay(solana_owner, 2 * PAYER_UNITS)
    assert refused.value.data["err"] == {"InstructionError": [1, {"Custom": 1}]}


def test_a_solana_transaction_is_confirmed_and_finalized_in_time(solana_node: SolanaNode, solana_owner: str) -> None:
    signature = solana_node.pay(solana_owner, 1)
    finalized = {"commitment": "finalized", "maxSupportedTransactionVersion": 0}
    assert solana_node.rpc("getSignatureStatuses", [signature])["value"][0]["confirmationStatus"] == "confirmed"
    assert solana_node.rpc("getTransaction", signature, finalized) is None
    solana_node.finalize()
    assert solana_node.rpc("getSignatureStatuses", [signature])["value"][0]["confirmationStatus"] == "finalized"
    assert solana_node.rpc("getTransaction", signature, finalized)
    last, confirmed, processed = (solana_node.slot(level) for level in ("finalized", "confirmed", "processed"))
    assert (last + 32 <= confirmed, confirmed + 1 <= processed) == (True, True)


def test_solana_refuses_in_the_words_and_codes_of_its_nodes(solana_node: SolanaNode, solana_owner: str) -> None:
    account = solana_node.token_account(solana_owner)
    versioned = solana_node.pay_all([Payment(solana_owner, 3)], written=Format(version=0))
    last = solana_node.skip(1)
    questions: list[tuple[str, list[Any], int, str]] = [
        ("getSignaturesForAddress", [account, {"commitment": "processed"}], -32602, "below `confirmed`"),
        ("getSignaturesForAddress", [account, CONFIRMED | {"limit": 1_001}], -32602, "max 1000"),
        ("getSignaturesForAddress", [account, CONFIRMED | {"minContextSlot": last + 9_000}], -32016, "Minimum context"),
        ("getTransaction", [versioned, CONFIRMED], -32015, "version"),
        ("getTransaction", ["1", {"encoding": "xml"}], -32602, ""),
        ("getBlockTime", [last], -32009, "skipped"),
        ("getBalance", ["no key"], -32602, ""),
        ("getSlot", [{"commitment": "sure"}], -32602, ""),
        ("sendTransaction", ["AAAA", {"encoding": "base64"}], -32602, ""),
        ("getNothing", [], -32601, ""),
    ]
    for method, params, code, words in questions:
        with pytest.raises(NodeError, match=words or None) as refused:
            solana_node.rpc(method, *params)
        assert refused.value.code == code
