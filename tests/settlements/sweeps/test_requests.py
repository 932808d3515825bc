"""Settlements from a merchant's own wallet."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.states import Mode
from gateway.core.api.errors import InvalidRequestError
from localnet.anvil import Anvil
from localnet.tokens import balance_of
from settlements.models import SettledOutflow, Settlement
from settlements.states import Sender, SettlementStatus
from settlements.sweeps.outflows import note_outflows
from settlements.sweeps.requests import (
    UNFINISHED_FOR,
    WalletBatch,
    give_up_wallets,
    note_wallet_hash,
    settle_now,
    wallet_batch,
)
from tests.factories import make_merchant
from tests.settlements.chain import USDC, paid, read
from wallets.models import DepositAddress
from wallets.states import ClaimKind

pytestmark = pytest.mark.django_db


def ask(merchant_id: int, **wanted: Any) -> list[Settlement]:
    given: dict[str, Any] = {"purpose": ClaimKind.CHECKOUT, "now": timezone.now()}
    return settle_now(merchant_id, wanted.pop("mode", Mode.LIVE), **given | wanted)


def a_day_later() -> datetime:
    return timezone.now() + UNFINISHED_FOR + timedelta(minutes=1)


def offered(deposit: DepositAddress) -> WalletBatch:
    found = wallet_batch(
        deposit.merchant_id, purpose=ClaimKind.CHECKOUT, chain="base", token="USDC", now=timezone.now()
    )
    assert found is not None
    return found


def send(node: Anvil, batch: WalletBatch) -> str:
    """Have a browser wallet send its transaction; return the hash."""
    call = batch.transaction
    return node.send(node.accounts[7], to=call["to"], data=bytes.fromhex(call["data"][2:]), gas=call["gas"])


def test_a_merchants_own_wallet_sends_the_same_call(base_settings: Any, base_node: Anvil) -> None:
    base_settings.GAS_KEYS = []
    first, _ = deposits = paid(base_node, 25_000_000, 30_000_000, merchant=make_merchant())
    batch = offered(first)
    assert offered(first) == batch
    assert batch.transaction["chainId"] == base_node.chain_id
    tx_hash = send(base_node, batch)
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


def test_what_a_wallet_never_sent_is_free_again_after_a_day(base_settings: Any, base_node: Anvil) -> None:
    [deposit] = paid(base_node, 25_000_000)
    batch = offered(deposit)
    note_wallet_hash(deposit.merchant_id, batch.batch, "0x" + "ab" * 32)
    assert give_up_wallets(now=timezone.now()) == 0
    assert give_up_wallets(now=a_day_later()) == 1
    assert len(ask(deposit.merchant_id)) == 1


@pytest.fixture
def given_up(base_settings: Any, base_node: Anvil) -> Iterator[WalletBatch]:
    """A batch whose transaction is not mined yet, given up after a day."""
    [deposit] = paid(base_node, 25_000_000)
    batch = offered(deposit)
    base_node.set_automine(False)
    note_wallet_hash(deposit.merchant_id, batch.batch, send(base_node, batch))
    assert give_up_wallets(now=a_day_later()) == 1
    yield batch
    base_node.set_automine(True)


def mine_and_note(node: Anvil) -> list[SettlementStatus]:
    """Mine what was sent and note it; return what became of the settlements, the oldest first."""
    read(node)
    assert note_outflows("base", now=a_day_later()) == 1
    rows = Settlement.objects.order_by("pk")
    return [SettlementStatus(row.status) for row in rows]


def test_what_was_given_up_and_is_mined_after_all_is_settled(given_up: WalletBatch, base_node: Anvil) -> None:
    # Its forwarders are free again, and in the next batch. Nothing of that one is sent, and the clock ends it.
    again = offered(DepositAddress.objects.get())
    assert again.batch != given_up.batch
    assert mine_and_note(base_node) == [SettlementStatus.SETTLED, SettlementStatus.PENDING]
    settled = SettledOutflow.objects.get().settlement
    assert (settled.batch, settled.units_moved) == (given_up.batch, 25_000_000)
    assert (settled.error, settled.items.get().units_moved) == ("", 25_000_000)
    assert give_up_wallets(now=a_day_later() + UNFINISHED_FOR) == 1


def test_of_two_settlements_with_its_hash_a_transaction_carries_out_one(
    given_up: WalletBatch, base_node: Anvil
) -> None:
    deposit = DepositAddress.objects.get()
    tx_hash = Settlement.objects.get().tx_hash
    note_wallet_hash(deposit.merchant_id, offered(deposit).batch, tx_hash)
    assert mine_and_note(base_node) == [SettlementStatus.FAILED, SettlementStatus.SETTLED]


def test_nobody_notes_a_hash_for_another_merchant(base_settings: Any, base_node: Anvil) -> None:
    [deposit] = paid(base_node, 25_000_000)
    batch = offered(deposit)
    assert note_wallet_hash(make_merchant().pk, batch.batch, "0x" + "ab" * 32) == []
    with pytest.raises(InvalidRequestError):
        note_wallet_hash(deposit.merchant_id, batch.batch, "0x12")
