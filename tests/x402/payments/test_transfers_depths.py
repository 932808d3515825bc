"""How deep a payment is, as the chain says it, and under which spelling of its hash."""

from dataclasses import replace
from typing import Any

import pytest

from demo.localnet.anvil import Anvil
from tests.contract.client import ApiClient
from tests.wallets.factories import make_watcher, read_all
from tests.x402.calls import ask
from tests.x402.payers import paid
from wallets.models import Transfer
from x402.models import X402Payment

pytestmark = pytest.mark.django_db


def test_what_its_watcher_recorded_too_early_is_valid_one_block_later(base: Anvil, base_seller: ApiClient) -> None:
    claim = paid(base, base_seller, blocks=2)
    # Its watcher does not look again meanwhile.
    read_all(make_watcher(base.url))
    assert Transfer.objects.get().state == "detected"
    answer = ask(base_seller, claim)
    assert (answer.body["reason"], answer.body["retryAfter"]) == ("not_confirmed", 3)
    assert not X402Payment.objects.exists()
    base.mine()
    answer = ask(base_seller, claim)
    assert (answer.body["valid"], answer.body["confirmations"]) == (True, 3)
    assert X402Payment.objects.get().transfer == Transfer.objects.get()


@pytest.mark.parametrize("is_recorded", [True, False])
def test_confirmations_are_counted_where_fewer_are_final(
    base: Anvil, base_seller: ApiClient, settings: Any, is_recorded: bool
) -> None:
    settings.CHAIN_SETTINGS = settings.CHAIN_SETTINGS | {"BASE_CONFIRMATIONS": "2"}
    claim = paid(base, base_seller, blocks=2)
    if is_recorded:
        read_all(make_watcher(base.url, CONFIRMATIONS="2"))
        assert Transfer.objects.get().state == "confirmed"
    answer = ask(base_seller, claim)
    assert (answer.body["valid"], answer.body["confirmations"]) == (True, 2)


def test_a_hash_without_0x_is_the_same_one_and_is_answered_with_it(base: Anvil, base_seller: ApiClient) -> None:
    claim = paid(base, base_seller)
    digits = claim.tx_hash.removeprefix("0x")
    answer = ask(base_seller, replace(claim, tx_hash=digits.upper()))
    assert (answer.body["valid"], answer.body["txHash"]) == (True, claim.tx_hash)
    again = ask(base_seller, replace(claim, tx_hash=digits))
    assert (again.body["reason"], again.body["txHash"]) == ("already_used", claim.tx_hash)
