"""An answer is given in the words of the version that asks."""

import pytest

from demo.localnet.anvil import Anvil
from demo.localnet.authorizations import authorize
from tests.contract.client import ApiClient
from tests.x402.exact.bodies import body_of
from tests.x402.exact.calls import settle
from tests.x402.exact.test_records import UNITS, USED
from tests.x402.payers import pay_to_of


@pytest.mark.django_db
def test_a_repetition_in_version_1_is_answered_in_version_1(
    base_node: Anvil, exact_seller: ApiClient, usdc: str
) -> None:
    told = authorize(base_node, pay_to_of(exact_seller), UNITS)
    second = settle(exact_seller, body_of(told, usdc), key="one")
    assert (second["network"], second["amount"]) == ("eip155:8453", str(UNITS))
    first = settle(exact_seller, body_of(told, usdc, version=1), key="one")
    assert first["success"], first
    assert first["network"] == "base"
    assert "amount" not in first
    failed = settle(exact_seller, body_of(told, usdc, version=1), key="other")
    assert (failed["errorReason"], failed["network"]) == (USED, "base")
