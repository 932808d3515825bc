"""A seller whose connection closed while its payment settled is served once when it settles again."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from demo.localnet.anvil import Anvil
from demo.localnet.authorizations import authorize
from tests.contract.client import ApiClient, some_address
from tests.contract.servers import HOST, Server, running_servers
from tests.waiting import wait_until
from tests.x402.exact.bodies import body_of
from tests.x402.exact.calls import settle, verify
from tests.x402.exact.processes import environment
from tests.x402.payers import pay_to_of
from x402.exact import settlement
from x402.models import Authorization

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
UNITS = 10_000
SECONDS = 60


@pytest.fixture
def server(base_node: Anvil, exact_seller: ApiClient, tmp_path: Path) -> Iterator[Server]:
    """A web process that settles on Base."""
    names = ("CHAIN_", "GAS_")
    own = environment(base_node.url)
    told = {name: own[name] for name in own if name.startswith(names)}
    with running_servers(1, tmp_path, told) as (server,):
        yield server


def begin(server: Server, seller: ApiClient, body: Any) -> socket.socket:
    """Send a settlement, and read no answer."""
    content = json.dumps(body).encode()
    head = [
        "POST /api/v1/x402/settle HTTP/1.1",
        f"Host: {HOST}",
        f"Authorization: Bearer {seller.key}",
        f"X-Forwarded-For: {some_address()}",
        "Content-Type: application/json",
        f"Content-Length: {len(content)}",
    ]
    peer = socket.create_connection((HOST, server.port), timeout=SECONDS)
    peer.sendall("\r\n".join(head).encode() + b"\r\n\r\n" + content)
    return peer


def wait_for(state: str) -> None:
    wait_until(lambda: Authorization.objects.filter(state=state).exists(), seconds=SECONDS)


@pytest.mark.usefixtures("no_bells")
def test_a_closed_connection_does_not_use_up_the_one_success(
    base_node: Anvil, server: Server, exact_seller: ApiClient, usdc: str
) -> None:
    body = body_of(authorize(base_node, pay_to_of(exact_seller), UNITS), usdc)
    base_node.set_automine(False)
    with begin(server, exact_seller, body):
        wait_for("sent")
    base_node.set_automine(True)
    base_node.mine()
    wait_for("settled")
    assert verify(exact_seller, body)["isValid"]
    assert settle(exact_seller, body)["success"]
    assert not settle(exact_seller, body)["success"]


def test_a_connection_that_closes_while_the_success_is_written_gives_it_back(
    base_node: Anvil, exact_seller: ApiClient, usdc: str
) -> None:
    body = body_of(authorize(base_node, pay_to_of(exact_seller), UNITS), usdc)
    looks = iter([False, True])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("x402.exact.api.is_client_gone", lambda _: next(looks))
        settle(exact_seller, body)
    assert Authorization.objects.get().served_at is None
    assert settle(exact_seller, body)["success"]


def test_without_giving_it_back_the_payer_would_never_be_served(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control."""
    monkeypatch.setattr(settlement, "give_back_success", lambda *_, **__: None)
    body = body_of(authorize(base_node, pay_to_of(exact_seller), UNITS), usdc)
    looks = iter([False, True])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("x402.exact.api.is_client_gone", lambda _: next(looks))
        settle(exact_seller, body)
    assert not settle(exact_seller, body)["success"]
