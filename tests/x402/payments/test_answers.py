"""An answer is kept under its key."""

import pytest

from demo.localnet.anvil import Anvil
from tests.contract.client import ApiClient
from tests.x402.calls import ask, verdict
from tests.x402.payers import paid

pytestmark = pytest.mark.django_db


def test_the_same_key_and_body_get_the_same_answer_and_another_body_none(base: Anvil, seller: ApiClient) -> None:
    claim = paid(base, seller)
    first = ask(seller, claim, key="order-7")
    again = ask(seller, claim, key="order-7")
    assert first.body["valid"] is True
    assert again.body == first.body
    assert ask(seller, claim, key="order-7", price="0.40").code == "duplicate"
    assert ask(seller, claim, key="order-8").body["reason"] == "already_used"
    assert verdict(seller, claim) == "already_used"


def test_a_key_whose_request_was_refused_may_be_used_again(base: Anvil, seller: ApiClient) -> None:
    claim = paid(base, seller, blocks=1)
    assert ask(seller, claim, key="k").body["reason"] == "not_confirmed"
    base.mine(2)
    assert ask(seller, claim, key="k").body["valid"] is True
