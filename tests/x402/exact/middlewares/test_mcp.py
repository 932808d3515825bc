"""Published wrappers for tools of MCP servers and for their clients, with our facilitator."""

import json
import os
import subprocess
from typing import Any

import pytest
from pytest_django.live_server_helper import LiveServer

from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.tokens import balance_of
from tests.contract.client import ApiClient
from tests.factories import NOON
from tests.x402.exact.environment import foreign_python
from tests.x402.exact.middlewares.shops import FOREIGN, SECONDS
from tests.x402.exact.middlewares.test_served_once import COPIES, base_shop
from tests.x402.exact.sellers import PRICE_UNITS, SECRET, Shop
from x402.exact import facilitator
from x402.exact.authorizations import Success
from x402.models import X402Payment

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def traded(shop: Shop, node: Anvil) -> Any:
    """What a tool's payer got, and what its payment got again."""
    told = {
        "FACILITATOR_URL": shop.facilitator,
        "FACILITATOR_KEY": shop.key,
        "PAY_TO": shop.pay_to,
        "NETWORK": "eip155:8453",
        "PAYER_KEY": payer(node).key,
    }
    ran = subprocess.run(
        [foreign_python(), str(FOREIGN / "mcp_tool.py"), str(COPIES)],
        env=os.environ | told,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_a_tool_is_bought_and_one_of_its_payments_copies_is_served(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, live_server: LiveServer
) -> None:
    shop = base_shop(exact_seller, usdc, live_server)
    found = traded(shop, base_node)
    first, second = X402Payment.objects.order_by("pk")
    assert (found["bought"], found["transaction"]) == (SECRET, first.tx_hash)
    assert found["again"] == ""
    assert sorted(filter(None, found["copies"])) == [json.dumps(SECRET)]
    # The tool ran for each copy: what withholds its answer is the settle that failed.
    assert (len(found["copies"]), found["ran"]) == (COPIES, 1 + COPIES)
    assert {first.resource, second.resource} == {"mcp://tool/report"}
    assert balance_of(base_node, usdc, shop.pay_to) == 2 * PRICE_UNITS


def test_a_wrapper_serves_whatever_settles(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, live_server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It serves as often as a settle succeeds: that this is once is the facilitator's word."""
    monkeypatch.setattr(facilitator, "claim_success", lambda *_, **__: Success(NOON, ""))
    shop = base_shop(exact_seller, usdc, live_server)
    found = traded(shop, base_node)
    assert (found["bought"], found["again"]) == (SECRET, json.dumps(SECRET))
