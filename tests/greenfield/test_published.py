"""Published Greenfield clients, as they are: PyPI's in the environment of foreign libraries, npm's. Each sells, and two refund."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest
from pytest_django.live_server_helper import LiveServer

from checkouts.models import Checkout
from payouts.models import Payout
from tests.contract.payments import pay
from tests.greenfield.plugin import WOO, Plugin, make_live_plugin
from tests.tree import ROOT
from tests.x402.exact.environment import foreign_python

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

_FOREIGN: Final = Path(__file__).parent / "foreign"
_SECONDS: Final = 60
SDK, REST, NODE = "btcpay-python-sdk", "btcpay-rest-client", "btcpay-greenfield-node-client"
_PROGRAMS: Final = {SDK: "shop_sdk.py", REST: "shop_rest.py", NODE: "shop.mjs"}


@pytest.fixture
def plugin(local_nodes: None, transactional_db: None) -> Plugin:
    """A store in live mode that takes money on Base and Polygon, and its key."""
    del local_nodes, transactional_db
    return make_live_plugin()


def told(client: str, url: str, plugin: Plugin, *arguments: str) -> Any:
    """What a client's program prints: the answers of its calls, by name."""
    python = "node" if client == NODE else foreign_python()
    where = {"BTCPAY_URL": f"{url}/btcpay", "BTCPAY_KEY": plugin.key, "BTCPAY_STORE": plugin.merchant.public_id}
    done = subprocess.run(
        [python, str(_FOREIGN / _PROGRAMS[client]), *arguments],
        cwd=ROOT,
        env=os.environ | where,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    # One of them prints its addresses besides.
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("client", [SDK, REST, NODE])
def test_a_published_client_sells(plugin: Plugin, live_server: LiveServer, client: str) -> None:
    found = told(client, live_server.url, plugin, "order")
    invoice = found["made"]["id"]
    checkout = Checkout.objects.get(public_id=invoice)
    assert (checkout.order_ref, found["made"]["amount"], found["made"]["status"]) == ("1001", "25.00", "New")
    assert found["again"]["id"] == found["read"]["id"] == invoice
    if "listed" in found:
        assert invoice in {one["id"] for one in found["listed"]}
        assert found["cancelled"]["status"] == "Invalid"
    if "stores" in found:
        assert [one["id"] for one in found["stores"]] == [plugin.merchant.public_id]
        assert "USDC-BASE" in found["server"]["supportedPaymentMethods"]
    if "hook" in found:
        assert [one["id"] for one in found["webhooks"]] == [found["hook"]["id"]]
        assert (bool(found["hook"]["secret"]), found["left"]) == (True, [])
        assert found["seen"] == found["changed"]
        assert (found["changed"]["url"], found["changed"]["enabled"]) == ("https://shop.example/moved", False)
    if "key" in found:
        assert found["key"]["permissions"] == [f"{name}:{plugin.merchant.public_id}" for name in WOO]
        assert found["store"]["id"] == plugin.merchant.public_id
        assert found["consent"]["form"]["fields"]["login"]["label"] == "E-mail address"

    pay(invoice)
    after = told(client, live_server.url, plugin, "paid", invoice)
    assert after["read"]["status"] == "Settled"
    [method] = after["methods"]
    assert (method["totalPaid"], len(method["payments"])) == ("25.000000", 1)
    if "refund" in after:
        assert Payout.objects.get().public_id == after["refund"]["id"]
        assert after["refund"]["viewLink"]
