"""An answer is kept under its key."""

import pytest

from demo.localnet.anvil import Anvil
from tests.contract.client import ApiClient
from tests.x402.calls import ask, verdict
from tests.x402.payers import paid

pytestmark = pytest.mark.django_db


def test_the_same_key_and_body_get_the_same_answer_and_another_body_none(base: Anvil, base_seller: ApiClient) -> None:
    claim = paid(base, base_seller)
    first = ask(base_seller, claim, key="order-7")
    again = ask(base_seller, claim, key="order-7")
    assert first.body["valid"] is True
    assert again.body == first.body
    assert ask(base_seller, claim, key="order-7", price="0.40").code == "duplicate"
    assert ask(base_seller, claim, key="order-8").body["reason"] == "already_used"
    assert verdict(base_seller, claim) == "already_used"


def test_a_key_whose_request_was_refused_may_be_used_again(base: Anvil, base_seller: ApiClient) -> None:
    claim = paid(base, base_seller, blocks=1)
    assert ask(base_seller, claim, key="k").body["reason"] == "not_confirmed"
    base.mine(2)
    assert ask(base_seller, claim, key="k").body["valid"] is True
