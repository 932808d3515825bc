"""A merchant asks for its money, with a gas key or from a wallet of its own."""

from typing import Any

import pytest
from django.utils import timezone

from accounts.states import Mode
from demo.localnet.anvil import Anvil
from gateway.core.api.errors import ConflictError, InvalidRequestError
from settlements.gas.node import GasNode
from settlements.models import Settlement
from settlements.payloads import settlement_payload
from settlements.sweeps.requests import settle_now
from tests.factories import make_merchant
from tests.settlements.chain import look, paid, settle
from wallets.forwarders.addresses import checksum
from wallets.states import ClaimKind

pytestmark = pytest.mark.django_db


def ask(merchant_id: int, **wanted: Any) -> list[Settlement]:
    given: dict[str, Any] = {"purpose": ClaimKind.CHECKOUT, "now": timezone.now()}
    return settle_now(merchant_id, wanted.pop("mode", Mode.LIVE), **given | wanted)


def test_what_a_merchant_asks_for_is_written_at_once_and_sent_a_moment_later(
    base_gas_node: GasNode, base_node: Anvil
) -> None:
    [deposit] = paid(base_node, 25_000_000)
    [settlement] = ask(deposit.merchant_id)
    told = settlement_payload(settlement)
    assert (told["amount"], told["status"], told["txHash"]) == ("25.000000", "pending", None)
    assert told["to"] == checksum(bytes(deposit.destination))
    look(base_gas_node)
    settle(base_gas_node, base_node)
    settlement.refresh_from_db()
    assert settlement_payload(settlement)["status"] == "settled"


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
