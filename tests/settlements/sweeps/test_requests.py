"""A merchant asks for its money, with a gas key or from a wallet of its own."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.states import Mode
from demo.localnet.anvil import Anvil
from demo.localnet.tokens import balance_of
from gateway.core.errors import ConflictError, InvalidRequestError
from settlements.gas.node import GasNode
from settlements.models import Settlement
from settlements.payloads import settlement_payload
from settlements.states import Sender, SettlementStatus
from settlements.sweeps.outflows import note_outflows
from settlements.sweeps.own_wallet import (
    UNFINISHED_FOR,
    WalletBatch,
    give_up_wallets,
    note_wallet_hash,
    wallet_batch,
)
from settlements.sweeps.requests import settle_now
from tests.factories import make_merchant
from tests.settlements.chain import USDC, look, paid, read, settle
from wallets.forwarders.addresses import checksum
from wallets.models import DepositAddress
from wallets.states import ClaimKind

pytestmark = pytest.mark.django_db


def ask(merchant_id: int, **wanted: Any) -> list[Settlement]:
    given: dict[str, Any] = {"purpose": ClaimKind.CHECKOUT, "now": timezone.now()}
    return settle_now(merchant_id, wanted.pop("mode", Mode.LIVE), **given | wanted)


def offered(deposit: DepositAddress) -> WalletBatch:
    found = wallet_batch(
        deposit.merchant_id,
        purpose=ClaimKind.CHECKOUT,
        chain="base",
        token="USDC",
        now=timezone.now(),
    )
    assert found is not None
    return found


def test_what_a_merchant_asks_for_is_written_at_once_and_sent_a_moment_later(
    node: GasNode, base_node: Anvil
) -> None:
    [deposit] = paid(base_node, 25_000_000)
    [settlement] = ask(deposit.merchant_id)
    told = settlement_payload(settlement)
    assert (told["amount"], told["status"], told["txHash"]) == (
        "25.000000",
        "pending",
        None,
    )
    assert told["to"] == checksum(bytes(deposit.destination))
    look(node)
    settle(node, base_node)
    settlement.refresh_from_db()
    assert settlement_payload(settlement)["status"] == "settled"


def test_only_what_was_asked_for_is_settled(base_node: Anvil, node: GasNode) -> None:
    merchant = make_merchant()
    paid(base_node, 25_000_000, merchant=merchant)
    [other] = paid(base_node, 25_000_000)
    assert ask(merchant.pk, purpose=ClaimKind.X402) == []
    assert ask(merchant.pk, chain="solana") == []
    assert ask(merchant.pk, mode=Mode.TEST) == []
    assert len(ask(merchant.pk, chain="base", token="USDC")) == 1
    assert ask(merchant.pk) == []
    assert not other.settlement_items.exists()


@pytest.mark.parametrize(
    "wanted", [{"chain": "dogecoin"}, {"token": "WETH"}, {"chain": "ton", "token": "X"}]
)
def test_chains_and_tokens_that_are_none_are_refused(
    wanted: dict[str, str], base_settings: Any
) -> None:
    with pytest.raises(InvalidRequestError):
        ask(make_merchant().pk, **wanted)


def test_without_a_gas_key_a_merchant_is_told_what_to_do(
    base_settings: Any, base_node: Anvil
) -> None:
    base_settings.GAS_KEYS = []
    assert ask(make_merchant().pk) == []
    [deposit] = paid(base_node, 25_000_000)
    with pytest.raises(ConflictError, match="dashboard"):
        ask(deposit.merchant_id)
    assert not Settlement.objects.exists()


def test_a_merchants_own_wallet_sends_the_same_call(
    base_settings: Any, base_node: Anvil
) -> None:
    base_settings.GAS_KEYS = []
    first, _ = deposits = paid(
        base_node, 25_000_000, 30_000_000, merchant=make_merchant()
    )
    batch = offered(first)
    assert offered(first) == batch
    call = batch.transaction
    tx_hash = base_node.send(
        base_node.accounts[7],
        to=call["to"],
        data=bytes.fromhex(call["data"][2:]),
        gas=call["gas"],
    )
    assert call["chainId"] == base_node.chain_id
    note_wallet_hash(first.merchant_id, batch.batch, tx_hash)
    base_node.receipt(tx_hash)
    assert [balance_of(base_node, USDC, str(one)) for one in deposits] == [0, 0]
    read(base_node)
    assert note_outflows("base", now=timezone.now()) == 2
    [settlement] = Settlement.objects.all()
    assert (settlement.status, settlement.sender, settlement.tx_hash) == (
        SettlementStatus.SETTLED,
        Sender.WALLET,
        tx_hash,
    )
    assert settlement.units_moved == 55_000_000


def test_what_a_wallet_never_sent_is_free_again_after_a_day(
    base_settings: Any, base_node: Anvil
) -> None:
    [deposit] = paid(base_node, 25_000_000)
    batch = offered(deposit)
    note_wallet_hash(deposit.merchant_id, batch.batch, "0x" + "ab" * 32)
    later = timezone.now() + UNFINISHED_FOR + timedelta(minutes=1)
    assert give_up_wallets(now=timezone.now()) == 0
    assert give_up_wallets(now=later) == 1
    assert len(ask(deposit.merchant_id)) == 1


def test_nobody_notes_a_hash_for_another_merchant(
    base_settings: Any, base_node: Anvil
) -> None:
    [deposit] = paid(base_node, 25_000_000)
    batch = offered(deposit)
    assert note_wallet_hash(make_merchant().pk, batch.batch, "0x" + "ab" * 32) == []
    with pytest.raises(InvalidRequestError):
        note_wallet_hash(deposit.merchant_id, batch.batch, "0x12")
