"""A chain's newest height is at most two seconds old, and asked for once."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from localnet.anvil import Anvil
from tests.contract.client import ApiClient
from tests.nodes.proxy import RpcProxy
from tests.wallets.factories import make_watcher, read_all
from tests.x402.calls import ask
from tests.x402.payers import paid
from wallets.models import ChainCursor
from x402 import heads

pytestmark = pytest.mark.django_db


def _is_behind(seconds: float) -> None:
    """Have the watcher have looked so long ago."""
    at = timezone.now() - timedelta(seconds=seconds)
    ChainCursor.objects.update(head_at=at)


@pytest.mark.parametrize("key", ["", "order-7"])
def test_confirmations_are_never_two_seconds_behind_the_chain(base: Anvil, base_seller: ApiClient, key: str) -> None:
    claim = paid(base, base_seller, blocks=3)
    read_all(make_watcher(base.url))
    # Ethereum is asked every three seconds.
    base.mine(2)
    _is_behind(2)
    answer = ask(base_seller, claim, key=key)
    assert (answer.body["valid"], answer.body["confirmations"]) == (True, 5)
    if key:
        assert ask(base_seller, claim, key=key).body == answer.body


def test_however_many_ask_a_node_is_asked_for_its_head_once(base: Anvil, base_seller: ApiClient, settings: Any) -> None:
    claims = [paid(base, base_seller) for _ in range(5)]
    read_all(make_watcher(base.url))
    with RpcProxy(base.url) as proxy:
        connect_again(settings, proxy.url)
        counts = []
        for claim in claims:
            _is_behind(2)
            assert ask(base_seller, claim).body["valid"]
            counts.append(proxy.requests)
    # The first one asks which chain the node is of as well.
    assert counts == [counts[0]] * 5
    assert counts[0] <= 3


def test_where_the_head_was_told_just_now_no_node_is_asked(base: Anvil, base_seller: ApiClient, settings: Any) -> None:
    claim = paid(base, base_seller)
    read_all(make_watcher(base.url))
    with RpcProxy(base.url) as proxy:
        connect_again(settings, proxy.url)
        assert ask(base_seller, claim).body["confirmations"] == 3
        assert proxy.requests == 0


def test_where_no_node_tells_its_head_the_answer_is_what_is_recorded(
    base: Anvil, base_seller: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    claims = [paid(base, base_seller) for _ in range(2)]
    read_all(make_watcher(base.url))
    _is_behind(60)
    asked: list[str] = []

    def no_answer(chain: str, *, deadline_seconds: float) -> None:
        asked.append(chain)

    monkeypatch.setattr(heads, "head_on", no_answer)
    monkeypatch.setattr(heads, "_REST_SECONDS", 3600.0)
    told = [ask(base_seller, claim).body["confirmations"] for claim in claims]
    assert (told, asked) == ([6, 3], ["base"])


def connect_again(settings: Any, url: str) -> None:
    settings.CHAIN_SETTINGS = settings.CHAIN_SETTINGS | {"BASE_RPC_URLS": url}
