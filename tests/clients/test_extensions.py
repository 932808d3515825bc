"""The published extensions of the standard, with the gate and our own facilitator: an identifier, a listing, an offer and a receipt."""

import json
import os
import subprocess
from typing import Any

import pytest
from pytest_django.live_server_helper import LiveServer

from florin_x402 import Config, Listing, Price
from florin_x402.wsgi import X402Wsgi
from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.tokens import balance_of
from tests.clients.serving import served
from tests.tree import ROOT
from tests.x402.exact.sellers import PRICE_UNITS, SECRET
from tests.x402.exact.shop import connect_base, open_shop
from tests.x402.payers import pay_to_of
from x402.models import X402Payment

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

SHOP = "https://shop.example"


def test_a_published_client_repeats_its_payment_and_keeps_the_evidence_of_it(
    base_node: Anvil, settings: Any, live_server: LiveServer
) -> None:
    usdc, seller = connect_base(settings, base_node), open_shop()
    ran: list[int] = []

    def report(_environ: Any, start_response: Any) -> list[bytes]:
        ran.append(1)
        start_response("200 OK", [("Content-Type", "application/json")])
        return [json.dumps(SECRET).encode()]

    listing = Listing(example={"port": "Hamburg"}, output=SECRET, service="Harbour reports", tags=("ships",))
    config = Config(
        url=f"{live_server.url}/api/v1/x402",
        key=seller.key or "",
        prices={"/report": Price("0.01", listing=listing)},
        base_url=SHOP,
        receipts=True,
    )
    app = X402Wsgi(report, config)
    with served(app) as url:
        told = subprocess.run(
            ["node", str(ROOT / "tests/clients/foreign/extensions.mjs"), f"{url}/report"],
            env=os.environ | {"PAYER_KEY": payer(base_node).key},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    app.gate.close()
    assert told.returncode == 0, told.stderr
    found = json.loads(told.stdout)
    first, again = found["answers"]
    assert first == again
    assert (first["status"], json.loads(first["body"])) == (200, SECRET)
    assert first["receipt"]["format"] == "jws"
    assert found["hasId"]
    assert found["isOfAccepted"]
    assert found["isOfOffer"]
    query = {"type": "http", "method": "GET", "queryParams": {"port": "Hamburg"}}
    assert found["listed"] == {"input": query, "name": "Harbour reports", "tags": ["ships"]}
    assert ran == [1]
    assert balance_of(base_node, usdc, pay_to_of(seller)) == PRICE_UNITS
    assert X402Payment.objects.get().resource == f"{SHOP}/report"
