"""What operators are told of chains."""

from collections.abc import Callable

import pytest

from localnet.anvil import Anvil
from tests.nodes import proxy as faults
from tests.nodes.proxy import RpcProxy
from tests.wallets.chain_reports import as_json
from tests.wallets.factories import read_all
from wallets.reconciliation import report
from wallets.watchers.blocks import Watcher

pytestmark = pytest.mark.django_db


def test_a_node_that_does_not_answer_is_told_and_delays_nothing(
    base_node: Anvil, base_watcher: Watcher, configure: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "PATIENCE_SECONDS", 3.0)
    read_all(base_watcher)
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
