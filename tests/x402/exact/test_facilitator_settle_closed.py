"""A seller whose connection closed while its payment settled is served once when it settles again."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from localnet.anvil import Anvil
from tests.contract.client import ApiClient
from tests.contract.servers import Server, running_servers
from tests.waiting import PATIENCE_SECONDS, wait_until
from tests.x402.exact.calls import settle, verify
from tests.x402.exact.processes import environment
from x402.exact import facilitator
from x402.models import Authorization

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
SECONDS = PATIENCE_SECONDS

Body = dict[str, Any]


@pytest.fixture
def server(base_node: Anvil, exact_seller: ApiClient, tmp_path: Path) -> Iterator[Server]:
    """A web process that settles on Base."""
    names = ("CHAIN_", "GAS_")
    own = environment(base_node.url)
    told = {name: own[name] for name in own if name.startswith(names)}
    with running_servers(1, tmp_path, told) as (server,):
        yield server


def wait_for(state: str) -> None:
    wait_until(lambda: Authorization.objects.filter(state=state).exists(), seconds=SECONDS)


@pytest.mark.usefixtures("no_bells")
def test_a_closed_connection_does_not_use_up_the_one_success(
    base_node: Anvil, server: Server, exact_seller: ApiClient, signed_body: Body
) -> None:
    base_node.set_automine(False)
    with server.begin("/x402/settle", exact_seller.key, signed_body):
        wait_for("sent")
    base_node.set_automine(True)
    base_node.mine()
    wait_for("settled")
    assert verify(exact_seller, signed_body)["isValid"]
    assert settle(exact_seller, signed_body)["success"]
    assert not settle(exact_seller, signed_body)["success"]


def settle_and_leave(seller: ApiClient, body: Body) -> None:
    """Settle over a connection that closes while the success is written."""
    looks = iter([False, True])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("x402.api.is_client_gone", lambda _: next(looks))
        settle(seller, body)


def test_a_connection_that_closes_while_the_success_is_written_gives_it_back(
    exact_seller: ApiClient, signed_body: Body
) -> None:
    settle_and_leave(exact_seller, signed_body)
    assert Authorization.objects.get().served_at is None
    assert settle(exact_seller, signed_body)["success"]


def test_without_giving_it_back_the_payer_would_never_be_served(
    exact_seller: ApiClient, signed_body: Body, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control."""
    monkeypatch.setattr(facilitator, "give_back_success", lambda *_, **__: None)
    settle_and_leave(exact_seller, signed_body)
    assert not settle(exact_seller, signed_body)["success"]
