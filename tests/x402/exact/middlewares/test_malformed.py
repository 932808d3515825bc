"""Published middlewares refuse a request whose payment or price is malformed, and do not fail over it.

Those that catch their own failure answer 402 too. So the payer must be told the facilitator's reason, not the failure.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from pytest_django.live_server_helper import LiveServer

from localnet.anvil import Anvil
from localnet.authorizations import authorize
from settlements.models import GasTransaction
from tests.contract.client import ApiClient
from tests.x402.exact.middlewares.shops import MIDDLEWARES, standing
from tests.x402.exact.middlewares.test_served_once import base_shop
from tests.x402.exact.sellers import PRICE_UNITS

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.mark.parametrize("middleware", MIDDLEWARES)
def test_a_malformed_price_is_refused_and_raises_nowhere(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, live_server: LiveServer, middleware: str
) -> None:
    shop = base_shop(exact_seller, usdc, live_server)

    def sign(wanted: Mapping[str, Any]) -> Mapping[str, Any]:
        return authorize(base_node, wanted["payTo"], PRICE_UNITS).payload()

    with standing(middleware, shop, amount="010000") as stand:
        stand.release()
        assert stand.refusal(stand.signed(sign)) == "invalid_payment_requirements"


@pytest.mark.parametrize("middleware", MIDDLEWARES)
def test_a_malformed_payload_is_refused_and_raises_nowhere(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, live_server: LiveServer, middleware: str
) -> None:
    shop = base_shop(exact_seller, usdc, live_server)

    def sign(wanted: Mapping[str, Any]) -> Mapping[str, Any]:
        signed = authorize(base_node, wanted["payTo"], PRICE_UNITS)
        return replace(signed, signature="0x1234").payload()

    with standing(middleware, shop) as stand:
        stand.release()
        assert stand.refusal(stand.signed(sign)) == "invalid_exact_evm_payload_signature"
    assert not GasTransaction.objects.exists()
