"""Settlements from a merchant's own wallet."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.states import Mode
from demo.localnet.anvil import Anvil
from demo.localnet.tokens import balance_of
from gateway.core.api.errors import InvalidRequestError
from settlements.models import Settlement
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
from tests.settlements.chain import USDC, paid, read
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
