"""A proof by hash on a real node: what pays, what does not, and what only does not yet."""

import pytest

from facilitator.models import X402Payment
from tests.contract.client import ApiClient
from tests.facilitator.asking import ask, verdict
from tests.facilitator.paying import paid, pay_to_of
from tests.nodes.anvil import Anvil

pytestmark = pytest.mark.django_db


def test_a_payment_that_no_watcher_has_read_yet_is_valid_once(
    base: Anvil, seller: ApiClient
) -> None:
    claim = paid(base, seller)
    answer = ask(seller, claim)
    assert answer.body["valid"] is True, answer.body
    assert answer.body["txHash"] == claim.tx_hash
    assert answer.body["confirmations"] == 3
    assert verdict(seller, claim) == "already_used"
    payment = X402Payment.objects.get()
    assert answer.body["paymentId"] == payment.public_id
    listed = seller.get("/x402/payments").body
    assert [one["id"] for one in listed["data"]] == [payment.public_id]
    assert listed["data"][0]["status"] == "verified"
