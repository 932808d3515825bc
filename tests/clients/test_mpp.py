"""Published clients of MPP pay through the gate, which asks our own facilitator, on an address that x402 is paid at too."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from threading import Barrier
from typing import Any

import httpx
import pytest
from pytest_django.live_server_helper import LiveServer

from florin_x402 import Price
from florin_x402.claims import ClaimStore, MemoryClaims
from florin_x402.config import Config
from florin_x402.mpp.nonces import nonces_of
from florin_x402.wire import decode_url, encode_url
from florin_x402.wsgi import X402Wsgi
from localnet.anvil import Anvil
from localnet.authorizations import authorize
from localnet.funding import payer
from localnet.tokens import balance_of, transfer
from settlements.models import GasTransaction
from tests.clients.serving import served
from tests.clients.test_published import report
from tests.clients.test_real import Forgetful
from tests.contract.client import ApiClient
from tests.waiting import PATIENCE_SECONDS
from tests.x402.exact.environment import foreign_python
from tests.x402.exact.published import bought, bought_by_npm, bought_by_pypi
from tests.x402.exact.sellers import PRICE_UNITS, SECRET
from tests.x402.exact.shop import connect_base, open_shop
from tests.x402.payers import pay_to_of
from x402.models import X402Payment

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

CALLERS = 16
DEEP = 3
_PAYERS = Path(__file__).parent.parent / "x402" / "exact"

Gate = Callable[..., AbstractContextManager[str]]


@pytest.fixture
def usdc(base_node: Anvil, settings: Any) -> str:
    """USDC on the local Base, the only chain that can be asked."""
    return connect_base(settings, base_node)


@pytest.fixture
def seller(usdc: str) -> ApiClient:
    """A key of a merchant whose machines pay on Base."""
    return open_shop()


@pytest.fixture
def gate(live_server: LiveServer, seller: ApiClient) -> Gate:
    """Sells the report by both protocols; gives where it is."""

    @contextmanager
    def selling(app: Any = report, *, claims: ClaimStore | None = None, price: str | Price = "0.01") -> Iterator[str]:
        found: list[X402Wsgi] = []
        # The address is part of what payers sign, and known once it is served.
        with served(lambda *asked: found[0](*asked)) as url:
            config = Config(
                url=f"{live_server.url}/api/v1/x402",
                key=seller.key or "",
                prices={"/report": price},
                base_url=url,
                mpp_secrets=["a secret of the seller's own, long enough"],
                claims=claims or MemoryClaims(),
            )
            found.append(X402Wsgi(app, config))
            yield f"{url}/report"
            found[0].gate.close()

    return selling


def paid_by_mppx(url: str, key: str, **settings: str) -> Any:
    return bought(["node", str(_PAYERS / "pay_by_mpp.mjs"), url], {"PAYER_KEY": key, **settings})


def paid_by_pympp(url: str, key: str) -> Any:
    return bought([foreign_python(), str(_PAYERS / "foreign" / "pay_by_mpp.py"), url], {"PAYER_KEY": key})


@pytest.mark.parametrize("buy", [paid_by_mppx, paid_by_pympp], ids=["mppx", "pympp"])
@pytest.mark.parametrize("settle", ["before", "after"])
def test_a_published_client_of_mpp_buys_from_the_gate(
    base_node: Anvil, usdc: str, seller: ApiClient, gate: Gate, buy: Any, settle: Any
) -> None:
    with gate(price=Price("0.01", settle=settle)) as url:
        told = buy(url, payer(base_node).key)
    assert (told["status"], json.loads(told["page"])) == (200, SECRET)
    payment = X402Payment.objects.get()
    receipt = told["receipt"]
    assert (receipt["status"], receipt["method"], receipt["reference"]) == ("success", "evm", payment.tx_hash)
    assert payment.resource == url
    assert balance_of(base_node, usdc, pay_to_of(seller)) == PRICE_UNITS


def test_payers_of_x402_buy_at_the_same_address(base_node: Anvil, usdc: str, seller: ApiClient, gate: Gate) -> None:
    key = payer(base_node).key
    with gate() as url:
        shop = url.removesuffix("/report")
        pages = [
            bought_by_pypi(shop, key),
            *(bought_by_npm(shop, key, package) for package in ("x402-fetch", "@x402/fetch")),
        ]
        told = paid_by_mppx(url, key, PROTOCOL="x402")
    assert pages == [SECRET] * 3
    assert (told["status"], told["receipt"]) == (200, None)
    assert balance_of(base_node, usdc, pay_to_of(seller)) == 4 * PRICE_UNITS


def asked_of(url: str) -> dict[str, Any]:
    """The challenge of a 402, and what it asks for."""
    header = httpx.get(url).headers["WWW-Authenticate"]
    parts = (part.partition("=") for part in header.removeprefix("Payment ").split(", "))
    return {name: value.strip('"') for name, _, value in parts}


def shown(challenge: dict[str, Any], payload: dict[str, Any], source: str) -> dict[str, str]:
    told = {"challenge": challenge, "payload": payload, "source": f"did:pkh:eip155:8453:{source}"}
    return {"Authorization": f"Payment {encode_url(told)}"}


def signed_for(node: Anvil, challenge: dict[str, Any]) -> dict[str, str]:
    """A credential of the node's payer, by a transfer that it signs."""
    asks = decode_url(challenge["request"])
    nonce = min(nonces_of(challenge["id"], challenge["realm"]))
    told = authorize(node, asks["recipient"], int(asks["amount"]), nonce=nonce).payload()
    payload = {"type": "authorization", "signature": told["signature"], **told["authorization"]}
    return shown(challenge, payload, payer(node).address)


def sent_for(node: Anvil, usdc: str, challenge: dict[str, Any]) -> dict[str, str]:
    """The same by a transaction that it sent, deep enough to count."""
    asks = decode_url(challenge["request"])
    tx_hash = transfer(node, payer(node), usdc, asks["recipient"], int(asks["amount"]))
    node.mine(DEEP - 1)
    return shown(challenge, {"type": "hash", "hash": tx_hash}, payer(node).address)


def test_a_payers_own_transaction_buys_one_report(base_node: Anvil, usdc: str, gate: Gate) -> None:
    with gate(_plain) as url:
        challenge = asked_of(url)
        credential = sent_for(base_node, usdc, challenge)
        answers = [httpx.get(url, headers=credential, timeout=60) for _ in range(2)]
        other = httpx.get(url, headers=sent_again(credential, asked_of(url)), timeout=60)
    assert [answer.status_code for answer in (*answers, other)] == [200, 403, 403]
    payment = X402Payment.objects.get()
    assert payment.resource == f"/report#{challenge['id']}"
    assert decode_url(answers[0].headers["Payment-Receipt"])["reference"] == payment.tx_hash


def sent_again(credential: dict[str, str], challenge: dict[str, Any]) -> dict[str, str]:
    """The same transaction under another challenge."""
    told = decode_url(credential["Authorization"].removeprefix("Payment "))
    return {"Authorization": f"Payment {encode_url(told | {'challenge': challenge})}"}


def _plain(environ: Any, start_response: Any) -> list[bytes]:
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [environ["florin.x402"].protocol.encode()]


@pytest.mark.parametrize("kind", ["authorization", "hash"])
def test_of_sixteen_who_show_one_credential_at_once_one_is_served(
    base_node: Anvil, usdc: str, gate: Gate, kind: str
) -> None:
    """As in as many processes that have nothing in common: no claims of the gate's tell them apart."""
    gathered = Barrier(CALLERS)
    with gate(_plain, claims=Forgetful(), price=Price("0.01", settle="after")) as url:
        challenge = asked_of(url)
        signed = kind == "authorization"
        credential = signed_for(base_node, challenge) if signed else sent_for(base_node, usdc, challenge)

        def ask(_: int) -> httpx.Response:
            gathered.wait(PATIENCE_SECONDS)
            return httpx.get(url, headers=credential, timeout=60)

        with ThreadPoolExecutor(CALLERS) as pool:
            answers = list(pool.map(ask, range(CALLERS)))
    statuses = sorted(answer.status_code for answer in answers)
    # Of those that a node could not be asked for at once, none is told to pay anew.
    assert statuses[0] == 200
    assert set(statuses[1:]) <= {403, 503}
    assert not any("WWW-Authenticate" in answer.headers for answer in answers)
    assert X402Payment.objects.count() == 1
    assert GasTransaction.objects.count() == int(kind == "authorization")
