"""The demo's wallets: a real transfer of exactly so much on each family's node, with what its payment link asks for."""

import base64
import multiprocessing
from collections.abc import Iterator

import pytest
from solders.keypair import Keypair

from demo.localnet.anvil import Anvil
from demo.localnet.solana.node import SolanaNode
from demo.localnet.ton.node import TonNode
from demo.localnet.tron import TronNode
from demo.seed import RECEIVING_WALLETS
from demo.wallet import pay
from tests.demo.addresses import (
    evm_balance,
    evm_entry,
    pay_one,
    solana_entry,
    ton_entry,
    tron_balance,
    tron_entry,
)

UNITS = 12_340_017
AMOUNT = "12.340017"
BUYER = "0x000000000000000000000000000000000000dEaD"


@pytest.fixture(scope="module")
def ton() -> Iterator[TonNode]:
    with TonNode() as node:
        yield node


def test_an_evm_wallet_sends_exactly_the_amount(base_node: Anvil) -> None:
    tx_hash = pay(evm_entry(base_node), token="USDC", to=BUYER, amount=AMOUNT)
    assert base_node.receipt(tx_hash)["status"] == "0x1"
    assert evm_balance(base_node)(BUYER) == UNITS


def test_a_tron_wallet_takes_trons_addresses_and_writes_its_hashes(
    tron_node: TronNode,
) -> None:
    to = RECEIVING_WALLETS["tron"]
    tx_hash = pay(tron_entry(tron_node), token="USDT", to=to, amount=AMOUNT)
    assert tron_node.anvil.receipt(f"0x{tx_hash}")["status"] == "0x1"
    assert tron_balance(tron_node)(to) == UNITS


def test_a_solana_wallet_names_the_links_reference_and_writes_a_memo(
    solana_node: SolanaNode,
) -> None:
    to, reference = RECEIVING_WALLETS["solana"], str(Keypair().pubkey())
    signature = pay(
        solana_entry(solana_node),
        token="USDC",
        to=to,
        amount=AMOUNT,
        reference=reference,
        comment="order 17",
    )
    assert solana_node.balance(to) == UNITS
    [listed] = solana_node.rpc(
        "getSignaturesForAddress", reference, {"commitment": "confirmed"}
    )
    assert listed["signature"] == signature
    assert "order 17" in listed["memo"]


def test_a_ton_wallet_writes_the_links_comment(ton: TonNode) -> None:
    to = RECEIVING_WALLETS["ton"]
    before = ton.balance(to)
    pay(ton_entry(ton), token="USDT", to=to, amount=AMOUNT, comment="K7QX")
    assert ton.balance(to) == before + UNITS
    query = {"owner_address": to, "direction": "in", "sort": "desc"}
    newest = ton.get("jetton/transfers", **query)["jetton_transfers"][0]
    assert newest["amount"] == str(UNITS)
    assert b"K7QX" in base64.b64decode(newest["forward_payload"])


def test_wallets_of_two_processes_never_sign_with_one_number(base_node: Anvil) -> None:
    jobs = [
        multiprocessing.get_context("spawn").Process(
            target=pay_one, args=(evm_entry(base_node), BUYER)
        )
        for _ in range(3)
    ]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join(60)
    assert [job.exitcode for job in jobs] == [0, 0, 0]
    assert evm_balance(base_node)(BUYER) == 3_000_000
