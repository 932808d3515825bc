"""What is settled next."""

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db import IntegrityError
from django.utils import timezone

from accounts.states import Mode
from gateway.core.api.errors import ConflictError, InvalidRequestError
from gateway.core.leases import leases
from localnet.anvil import Anvil
from settlements import serializers
from settlements.gas.node import GasNode
from settlements.models import GasTransaction, Settlement, SettlementItem
from settlements.states import SettlementStatus
from settlements.sweeps.plan import MOST_ITEMS, alone, waiting_items, write_batch
from settlements.sweeps.requests import settle_now
from settlements.sweeps.service import UNSENT_FOR, resume, sweep
from tests.factories import make_merchant
from tests.settlements.chain import WAITING, look, paid, paid_together, settle
from wallets.forwarders.addresses import checksum
from wallets.states import ClaimKind

pytestmark = pytest.mark.django_db


def test_a_forwarder_is_in_one_open_settlement(base_node: Anvil) -> None:
    paid(base_node, 25_000_000)
    items = waiting_items(WAITING, now=timezone.now())
    write_batch(WAITING, items, now=timezone.now())
    with pytest.raises(IntegrityError):
        write_batch(WAITING, items, now=timezone.now())


def test_a_batch_that_was_never_sent_is_sent_by_the_next_run(base_gas_node: GasNode, base_node: Anvil) -> None:
    paid(base_node, 25_000_000)
    now = timezone.now()
    [settlement] = write_batch(WAITING, waiting_items(WAITING, now=now), now=now)
    resume("base", node=base_gas_node, now=timezone.now())
    settle(base_gas_node, base_node)
    settlement.refresh_from_db()
    assert settlement.status == SettlementStatus.SETTLED


def test_a_batch_that_cannot_be_sent_for_a_day_sets_its_forwarders_free(
    base_gas_node: GasNode, base_node: Anvil, base_settings: Any
) -> None:
    paid(base_node, 25_000_000)
    base_settings.GAS_MAX_GWEI = {"base": "0.000000001"}
    [settlement] = sweep(WAITING, node=base_gas_node, now=timezone.now())
    assert settlement.status == SettlementStatus.PENDING
    later = timezone.now() + UNSENT_FOR + timedelta(minutes=1)
    assert resume("base", node=base_gas_node, now=later) == 1
    settlement.refresh_from_db()
    assert settlement.status == SettlementStatus.FAILED
    assert len(waiting_items(WAITING, now=later)) == 1


def test_gas_that_became_dear_before_it_was_sent_is_not_paid(
    base_gas_node: GasNode, base_node: Anvil, base_settings: Any
) -> None:
    paid(base_node, 25_000_000)
    now = timezone.now()
    [settlement] = write_batch(WAITING, waiting_items(WAITING, now=now), now=now)
    base_settings.GAS_COIN_USD = {"base": "100000000"}
    resume("base", node=base_gas_node, now=now)
    settlement.refresh_from_db()
    assert settlement.status == SettlementStatus.FAILED
    assert "gas would cost too much" in settlement.error
    assert not GasTransaction.objects.exists()


# One process at a time does a piece of work.


@pytest.mark.django_db
def test_work_that_another_process_does_is_not_ours_until_it_ends() -> None:
    name = "settlements:sweep:base"
    with alone("sweep:base") as is_ours:
        assert is_ours
        assert leases.take(name, "another", seconds=60) is None
    assert leases.take(name, "another", seconds=settings.CELERY_TASK_TIME_LIMIT)
    with alone("sweep:base") as is_ours:
        assert not is_ours


# What costs more gas than it is worth waits.


def test_what_costs_more_than_it_is_worth_waits(base_gas_node: GasNode, base_node: Anvil) -> None:
    paid(base_node, 10_000)
    assert sweep(WAITING, node=base_gas_node, now=timezone.now()) == []
    assert not SettlementItem.objects.exists()


# The calls that forwarders are emptied by.


# Of any transaction (EIP-7825).
MOST_GAS = 2**24


def test_a_full_batch_of_a_token_with_a_block_list_fits_its_gas(
    base_gas_node: GasNode, base_node: Anvil, base_settings: Any
) -> None:
    base_settings.GAS_DAILY_COINS = {"base": "1"}
    paid_together(base_node, MOST_ITEMS, merchant=make_merchant(), units=250_000_000_000 // 150)
    assert len(sweep(WAITING, node=base_gas_node, now=timezone.now())) == MOST_ITEMS
    settle(base_gas_node, base_node)
    [made] = GasTransaction.objects.all()
    assert made.gas_used is not None
    assert MOST_ITEMS * 70_000 < made.gas_used < made.gas_limit < MOST_GAS
    statuses = Settlement.objects.values_list("status", flat=True)
    assert set(statuses) == {SettlementStatus.SETTLED}


# A merchant asks for its money, with a gas key or from a wallet of its own.


def ask(merchant_id: int, **wanted: Any) -> list[Settlement]:
    given: dict[str, Any] = {"purpose": ClaimKind.CHECKOUT, "now": timezone.now()}
    return settle_now(merchant_id, wanted.pop("mode", Mode.LIVE), **given | wanted)


def test_what_a_merchant_asks_for_is_written_at_once_and_sent_a_moment_later(
    base_gas_node: GasNode, base_node: Anvil
) -> None:
    [deposit] = paid(base_node, 25_000_000)
    [settlement] = ask(deposit.merchant_id)
    told = serializers.Settlement.of(settlement)
    assert (told["amount"], told["status"], told["txHash"]) == ("25.000000", "pending", None)
    assert told["to"] == checksum(bytes(deposit.destination))
    look(base_gas_node)
    settle(base_gas_node, base_node)
    settlement.refresh_from_db()
    assert serializers.Settlement.of(settlement)["status"] == "settled"


def test_only_what_was_asked_for_is_settled(base_node: Anvil, base_gas_node: GasNode) -> None:
    merchant = make_merchant()
    paid(base_node, 25_000_000, merchant=merchant)
    [other] = paid(base_node, 25_000_000)
    assert ask(merchant.pk, purpose=ClaimKind.X402) == []
    assert ask(merchant.pk, chain="solana") == []
    assert ask(merchant.pk, mode=Mode.TEST) == []
    assert len(ask(merchant.pk, chain="base", token="USDC")) == 1
    assert ask(merchant.pk) == []
    assert not other.settlement_items.exists()


@pytest.mark.parametrize("wanted", [{"chain": "dogecoin"}, {"token": "WETH"}, {"chain": "ton", "token": "X"}])
def test_chains_and_tokens_that_are_none_are_refused(wanted: dict[str, str], base_settings: Any) -> None:
    with pytest.raises(InvalidRequestError):
        ask(make_merchant().pk, **wanted)


def test_without_a_gas_key_a_merchant_is_told_what_to_do(base_settings: Any, base_node: Anvil) -> None:
    base_settings.GAS_KEYS = []
    assert ask(make_merchant().pk) == []
    [deposit] = paid(base_node, 25_000_000)
    with pytest.raises(ConflictError, match="dashboard"):
        ask(deposit.merchant_id)
    assert not Settlement.objects.exists()
