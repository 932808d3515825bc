"""Requests about one payment while others deal with it: it buys one thing."""

from typing import Any

import pytest
from django.utils import timezone

from accounts.models import FeeEntry
from localnet.anvil import Anvil
from localnet.authorizations import authorize
from localnet.funding import payer
from localnet.tokens import transfer
from tests.concurrency.races import together
from tests.contract.client import ApiClient
from tests.wallets.factories import make_watcher, read_all
from tests.x402.calls import verdict
from tests.x402.exact.bodies import body_of
from tests.x402.exact.calls import settle
from tests.x402.payers import claim_of, pay_to_of
from wallets.models import Transfer, TransferClaim
from x402.models import X402Payment
from x402.payments.rechecks import recheck_payments
from x402.payments.transfers import follow_transfers

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("no_bells")]
UNITS = 10_000


def test_a_payment_that_is_verified_while_its_watcher_records_it_is_valid_once(
    base_node: Anvil, exact_seller: ApiClient, usdc: str
) -> None:
    to = pay_to_of(exact_seller)
    tx_hash = transfer(base_node, payer(base_node), usdc, to, UNITS)
    base_node.mine(3)
    claim = claim_of(base_node, tx_hash, to, amount="0.01", price="0.01")
    watcher = make_watcher(base_node.url, TOKEN_USDC=usdc)

    def record() -> str:
        read_all(watcher)
        return f"followed {follow_transfers(now=timezone.now())}"

    # A chain is asked by four at once.
    *told, _ = together(*[lambda: verdict(exact_seller, claim)] * 4, record)
    assert sorted(told) == ["already_used"] * 3 + ["valid"]
    watcher.close()
    recheck_payments(now=timezone.now())
    assert X402Payment.objects.get().transfer == Transfer.objects.get()
    assert TransferClaim.objects.count() == FeeEntry.objects.count() == 1


def test_one_transfer_shown_by_both_protocols_at_once_pays_once(
    base_node: Anvil, exact_seller: ApiClient, usdc: str
) -> None:
    told = authorize(base_node, pay_to_of(exact_seller), UNITS)
    tx_hash = base_node.send(base_node.accounts[5], to=usdc, data=told.call())
    base_node.mine(3)
    claim = claim_of(base_node, tx_hash, told.to, amount="0.01", price="0.01")
    body: dict[str, Any] = body_of(told, usdc)

    def by_hash() -> bool:
        return verdict(exact_seller, claim) == "valid"

    def by_signature() -> bool:
        return bool(settle(exact_seller, body)["success"])

    answers = together(*[by_hash] * 4, by_signature)
    assert answers.count(True) == 1, answers
    assert X402Payment.objects.count() == FeeEntry.objects.count() == 1
