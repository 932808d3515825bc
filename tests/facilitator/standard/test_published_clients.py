"""Clients of the public standard, as they are published, pay through this facilitator unchanged."""

import asyncio
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from pytest_django.live_server_helper import LiveServer

from facilitator.models import X402Payment
from tests.contract.client import ApiClient
from tests.facilitator.paying import pay_to_of
from tests.facilitator.standard.selling import (
    PRICE_UNITS,
    SECRET,
    Shop,
    first_shop,
    second_shop,
    selling,
)
from tests.nodes.anvil import Anvil
from tests.nodes.local_chain import payer
from tests.nodes.tokens import balance_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
PAY = Path(__file__).parent / "pay.mjs"
SECONDS = 60

Open = Callable[[Shop], FastAPI]


@pytest.fixture
def shop(seller: ApiClient, usdc: str, live_server: LiveServer) -> Shop:
    """A merchant whose resource servers ask this facilitator."""
    return Shop(
        facilitator=f"{live_server.url}/api/v1/x402",
        key=seller.key or "",
        pay_to=pay_to_of(seller),
        asset=usdc,
    )


def bought_by_pypi(
    url: str, key: str, *, allowed: tuple[str, str] | None = None
) -> Any:
    """What PyPI x402's httpx client gets for its money; `allowed` is a network and an asset that it does not know."""
    from eth_account import Account
    from x402 import x402Client
    from x402.client import SpendControlAsset, SpendControls
    from x402.http.clients.httpx import x402HttpxClient
    from x402.mechanisms.evm import EthAccountSigner
    from x402.mechanisms.evm.exact import register_exact_evm_client

    async def buy() -> Any:
        signer = EthAccountSigner(Account.from_key(key))
        client = register_exact_evm_client(x402Client(), signer)
        if allowed is not None:
            asset = SpendControlAsset(network=allowed[0], asset=allowed[1])
            client.set_spend_controls(SpendControls(allowed_assets=[asset]))
        async with x402HttpxClient(client, timeout=SECONDS) as http:
            answer = await http.get(f"{url}/report")
            assert answer.status_code == 200, answer.text
            return answer.json()

    return asyncio.run(buy())


def bought_by_npm(
    url: str,
    key: str,
    package: str,
    *,
    allowed: tuple[str, str] | None = None,
    solana_node: str = "",
) -> Any:
    """What an npm client gets for its money; `allowed` is a network and an asset that it does not know.

    With a Solana node's address it pays on Solana.
    """
    told = subprocess.run(
        ["node", str(PAY), package, f"{url}/report", *(allowed or ())],
        env={
            "PAYER_KEY": key,
            "SOLANA_RPC_URL": solana_node,
            "PATH": "/usr/bin:/usr/local/bin:/bin",
        },
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    return json.loads(told.stdout)


@pytest.mark.parametrize("open_shop", [first_shop, second_shop], ids=["v1", "v2"])
def test_the_pypi_client_pays(base_node: Anvil, shop: Shop, open_shop: Open) -> None:
    with selling(open_shop(shop)) as url:
        assert bought_by_pypi(url, payer(base_node).key) == SECRET
    check_paid(base_node, shop)


@pytest.mark.parametrize(
    ("open_shop", "package"),
    [(first_shop, "x402-fetch"), (second_shop, "@x402/fetch")],
    ids=["v1", "v2"],
)
def test_the_npm_client_pays(
    base_node: Anvil, shop: Shop, open_shop: Open, package: str
) -> None:
    with selling(open_shop(shop)) as url:
        assert bought_by_npm(url, payer(base_node).key, package) == SECRET
    check_paid(base_node, shop)


def check_paid(node: Anvil, shop: Shop) -> None:
    """Check that the money came, once, and is in the books."""
    assert balance_of(node, shop.asset, shop.pay_to) == PRICE_UNITS
    assert int(X402Payment.objects.get().units) == PRICE_UNITS
