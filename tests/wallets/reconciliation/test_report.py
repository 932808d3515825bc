"""What operators are told of chains."""

import json
from collections.abc import Callable, Iterator
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from demo.localnet.anvil import Anvil
from demo.localnet.tokens import token_address
from tests.nodes import proxy as faults
from tests.nodes.proxy import RpcProxy
from tests.wallets.factories import make_watcher, read_all
from wallets.reconciliation import report
from wallets.watchers.blocks import Watcher

pytestmark = pytest.mark.django_db


USDC = token_address("USDC")


@pytest.fixture
def configure(settings: Any) -> Callable[..., None]:
    """Set the chains' settings."""

    def configure(**given: str) -> None:
        settings.CHAIN_NETWORK = "local"
        settings.CHAIN_SETTINGS = given

    return configure


@pytest.fixture
def base(base_node: Anvil, configure: Callable[..., None]) -> Iterator[Watcher]:
    """A watched chain."""
    configure(BASE_RPC_URLS=base_node.url, BASE_TOKEN_USDC=USDC, BASE_CONFIRMATIONS="6")
    watcher = make_watcher(base_node.url)
    yield watcher
    watcher.close()


def run(*arguments: str) -> str:
    output = StringIO()
    call_command("chains", *arguments, stdout=output, stderr=StringIO())
    return output.getvalue()


def as_json() -> dict[str, Any]:
    return {one["chain"]: one for one in json.loads(run("--json"))}


def test_a_node_that_does_not_answer_is_told_and_delays_nothing(
    base_node: Anvil,
    base: Watcher,
    configure: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(report, "PATIENCE_SECONDS", 1.0)
    read_all(base)
    with RpcProxy(base_node.url) as hanging, RpcProxy(base_node.url) as refusing:
        hanging.fault = faults.hangs
        refusing.fault = faults.drops
        urls = [base_node.url, hanging.url, refusing.url]
        configure(BASE_RPC_URLS=",".join(urls))
        sound, mute, broken = as_json()["base"]["nodes"]
    assert sound["error"] == ""
    assert mute["error"] == "does not answer in time"
    assert "does not answer" in broken["error"]
    assert (broken["height"], broken["is_ours"]) == (None, None)
