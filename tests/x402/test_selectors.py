"""Lists of payments: narrowed, and a merchant's own."""

import pytest

from demo.localnet.anvil import Anvil
from tests.contract.client import ApiClient
from tests.x402.byhash.test_service import other_seller
from tests.x402.calls import verdict
from tests.x402.payers import paid

pytestmark = pytest.mark.django_db


def test_lists_are_narrowed_and_strangers_see_nothing(base: Anvil, base_seller: ApiClient) -> None:
    claim = paid(base, base_seller)
    assert verdict(base_seller, claim) == "valid"
    for query, count in (
        ({"chain": "base"}, 1),
        ({"chain": "polygon"}, 0),
        ({"token": "USDC", "status": "verified"}, 1),
        ({"status": "reversed"}, 0),
        ({"resource": claim.resource}, 1),
        ({"resource": "x"}, 0),
        ({"created_after": "2100-01-01T00:00:00Z"}, 0),
    ):
        assert base_seller.get("/x402/payments", query).body["total"] == count, query
    assert base_seller.get("/x402/payments", {"status": "x"}).status == 400
    assert other_seller().get("/x402/payments").body["total"] == 0
