"""Local nodes refuse what real ones refuse, in their words: a milder one would let tests pass that a real one fails.

That they answer in the shapes of recorded answers is in tests/recorded/test_shapes.py. What else they do is relied on, and so
proved, by the tests of the adapters.
"""

import asyncio
from typing import Any

import pytest
from solana.rpc.async_api import AsyncClient
from solana.rpc.commitment import Confirmed
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from demo.localnet.errors import NodeError
from demo.localnet.funding import payer
from demo.localnet.solana import programs
from demo.localnet.solana.node import PAYER_UNITS, USDC, Format, Payment, SolanaNode
from demo.localnet.ton.node import PAYER_UNITS as JETTONS
from demo.localnet.ton.node import TonNode
from demo.localnet.tron import USDT, Rules, TronNode
from wallets.chains.base import ChainError, ChainUnavailableError, RangeTooLargeError
from wallets.chains.rpc.client import BatchRefusedError, Node, RefusedError

CONFIRMED = {"commitment": "confirmed"}
TRON_WALLET = "TPecqY13cLPBbG855V9q7tbMgQhRkwLDVr"
ALL_BLOCKS = {"fromBlock": "0x0", "toBlock": "latest"}


def test_solanas_client_library_sends_and_finds_a_payment(solana_node: SolanaNode, solana_owner: str) -> None:
    signature = Signature.from_string(solana_node.pay(solana_owner, 25, memo="a memo"))
    account = Pubkey.from_string(solana_node.token_account(solana_owner))

    async def questions() -> Any:
        async with AsyncClient(solana_node.url) as client:
            assert await client.is_connected()
            assert (await client.get_version()).value.solana_core
            recent = (await client.get_latest_blockhash(Confirmed)).value
            assert recent.last_valid_block_height >= (await client.get_slot(Confirmed)).value + 150
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


def test_toncenters_refusals_and_traces_are_worded_as_its_own(ton_node: TonNode) -> None:
    for path, query, code in (
        ("transactions", {"limit": 1001}, 422),
        ("jetton/transfers", {"owner_address": "nobody"}, 422),
    ):
        with pytest.raises(NodeError) as refused:
            ton_node.get(path, **query)
        assert refused.value.code == code
        assert path != "transactions" or refused.value.data["error"] == "limit is not allowed: 1001 > 1000"
    wallet = ton_node.create_wallet()
    [trace] = ton_node.get("traces", tx_hash=ton_node.pay(wallet.address, 25))["traces"]
    assert (trace["is_incomplete"], trace["trace_info"]["trace_state"]) == (False, "complete")
    first = trace["transactions"][trace["transactions_order"][0]]
    assert set(trace["transactions_order"]) == set(trace["transactions"])
    assert first["hash"] == trace["trace_id"]
    for name in (first["in_msg"]["hash"], first["in_msg"]["hash_norm"]):
        assert ton_node.get("traces", msg_hash=name)["traces"] == [trace]
    assert ton_node.get("traces", tx_hash="00" * 32)["traces"] == []
    ton_node.withhold_blocks()
    [trace] = ton_node.get("traces", tx_hash=ton_node.pay(wallet.address, 25))["traces"]
    assert trace["trace_info"]["trace_state"] == "pending"


def test_what_a_jetton_wallet_does_not_have_is_no_transfer_on_ton(ton_node: TonNode) -> None:
    wallet = ton_node.create_wallet()
    assert ton_node.pay(wallet.address, JETTONS + 1) == ""
    assert ton_node.get("jetton/transfers", owner_address=wallet.address, direction="in")["jetton_transfers"] == []
    assert ton_node.balance(wallet.address) == 0


def test_a_reset_of_ton_undoes_what_a_test_did(ton_node: TonNode) -> None:
    wallet = ton_node.create_wallet(units=5)
    ton_node.limit_rate(100)
    ton_node.reset()
    assert (ton_node.balance(wallet.address), ton_node.balance(ton_node.payer.address)) == (0, JETTONS)
    assert ton_node.pay(wallet.address, 1)


def test_tron_refuses_what_java_tron_refuses(tron_node: TronNode) -> None:
    node, words = Node(tron_node.url), [f"0x{number:064x}" for number in range(1_001)]
    tron_node.mine(10)
    assert node.call("eth_getLogs", [{"fromBlock": "0x0", "toBlock": "0x1", "topics": [words[1:]]}]) == []
    assert Rules().most_blocks == 5_000
    tron_node.rules.most_blocks = 5
    node.call("eth_getLogs", [{"fromBlock": "0x1", "toBlock": "0x6"}])
    questions: list[tuple[str, list[Any], type[ChainError], str]] = [
        ("eth_getBlockByNumber", ["pending", False], RefusedError, r"TAG pending not supported \(-32602\)"),
        ("eth_getBlockByNumber", ["safe", False], RefusedError, r"TAG safe not supported \(-32602\)"),
        ("eth_getLogs", [{"fromBlock": "0x0", "toBlock": "0x1", "topics": [words]}], ChainError, "max topics: 1000"),
        ("eth_getLogs", [{"fromBlock": "0x1", "toBlock": "0x7"}], RangeTooLargeError, "exceed max block range: 5"),
        ("eth_getLogs", [ALL_BLOCKS | {"address": [USDT]}], RefusedError, "invalid address"),
        ("eth_sendRawTransaction", ["0x"], RefusedError, "does not exist"),
    ]
    for method, params, refusal, told in questions:
        with pytest.raises(refusal, match=told):
            node.call(method, params)
    tron_node.rules.most_results, tron_node.rules.most_blocks = 1, 5_000
    tron_node.pay(TRON_WALLET, 1)
    tron_node.pay(TRON_WALLET, 2)
    with pytest.raises(RangeTooLargeError, match="more than 1 results"):
        node.call("eth_getLogs", [ALL_BLOCKS])
    calls: list[tuple[str, list[object]]] = [("eth_chainId", [])] * 101
    assert len(node.batch(calls[:100])) == 100
    with pytest.raises(BatchRefusedError, match="exceeds the limit of 100"):
        node.batch(calls)
    tron_node.rules.api_key = "the-right-key"
    with pytest.raises(ChainUnavailableError):
        Node(tron_node.url, headers={"TRON-PRO-API-KEY": "another-key"}).call("eth_chainId", [])


def test_tron_solidifies_nineteen_blocks_later_and_knows_no_nonce(tron_node: TronNode) -> None:
    node, grid, anvil = Node(tron_node.url), Node(tron_node.grid_url), tron_node.anvil
    anvil.set_automine(False)
    sent = anvil.send(payer(anvil), to=payer(anvil).address)
    assert node.call("eth_getTransactionByHash", [sent]) is None
    anvil.mine()
    anvil.set_automine(True)
    assert node.call("eth_getTransactionByHash", [sent])["nonce"] is None
    paid = {"value": tron_node.pay(TRON_WALLET, 25)}
    path, confirmed = f"v1/accounts/{TRON_WALLET}/transactions/trc20", [("only_confirmed", "true")]
    assert grid.post("wallet/gettransactioninfobyid", paid)["id"] == paid["value"]
    assert grid.post("walletsolidity/gettransactioninfobyid", paid) == {}
    assert grid.get(path, confirmed)["data"] == []
    tron_node.mine(19)
    assert grid.post("walletsolidity/gettransactioninfobyid", paid) != {}
    assert len(grid.get(path, confirmed)["data"]) == 1
    latest, final = (node.call("eth_getBlockByNumber", [tag, False])["number"] for tag in ("latest", "finalized"))
    assert int(latest, 16) - int(final, 16) == 19
