"""What watched wallets hold is what their chain says, and no lie of a node's becomes a balance."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.tokens import balance_of, token_address
from tests.nodes.proxy import RpcProxy, results
from tests.wallets.factories import local_spec, make_watcher, read_all
from tests.wallets.paying import transfer
from tests.wallets.watching import Beside, watch
from wallets.chains.base import ChainError
from wallets.models import WatchedBalance, WatchedWallet
from wallets.watched.selectors import balances_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("no_history", "never_rests")]

USDC, USDT = token_address("USDC"), token_address("USDT")
SHOP = "0x000000000000000000000000000000000f5bafe1"


def held_by(wallet: WatchedWallet) -> dict[str, int]:
    rows = balances_of([wallet])[wallet.pk]
    return {token: int(row.units) for token, row in rows.items()}


@pytest.fixture
def proxy(polygon_node: Anvil) -> Iterator[RpcProxy]:
    with RpcProxy(polygon_node.url) as made:
        yield made


@pytest.fixture
def beside(proxy: RpcProxy) -> Iterator[Beside]:
    """Polygon, read to its head."""
    watcher = make_watcher(proxy.url, chain="polygon")
    read_all(watcher)
    made = Beside(local_spec(proxy.url, chain="polygon"))
    yield made
    made.close()
    watcher.close()


def test_every_accepted_token_is_asked_for_when_a_wallet_is_added(polygon_node: Anvil, beside: Beside) -> None:
    transfer(polygon_node, payer(polygon_node), USDC, SHOP, 15)
    shop, other = (watch(SHOP, chain="polygon"), watch(payer(polygon_node).address, chain="polygon"))
    beside.tick()
    assert held_by(shop) == {"USDC": 15, "USDT": 0}
    assert held_by(other) == {
        symbol: balance_of(polygon_node, token, other.address) for symbol, token in (("USDC", USDC), ("USDT", USDT))
    }
    [height] = {row.height for row in WatchedBalance.objects.all()}
    assert height == polygon_node.block_number()


def test_a_balance_is_read_again_after_a_movement_and_after_a_day_not_otherwise(
    polygon_node: Anvil, proxy: RpcProxy, beside: Beside
) -> None:
    shop = watch(SHOP, chain="polygon")
    beside.tick()
    asked = proxy.requests
    beside.tick(3)
    assert proxy.requests == asked

    transfer(polygon_node, payer(polygon_node), USDC, SHOP, 15)
    watcher = make_watcher(proxy.url, chain="polygon")
    read_all(watcher)
    watcher.close()
    beside.tick()
    assert held_by(shop) == {"USDC": 15, "USDT": 0}

    transfer(polygon_node, payer(polygon_node), USDC, SHOP, 5)
    beside.tick()
    assert held_by(shop)["USDC"] == 15
    WatchedBalance.objects.update(read_at=timezone.now() - timedelta(days=1))
    beside.tick()
    assert held_by(shop)["USDC"] == 20


@pytest.mark.parametrize("lie", ["0x", "0x01", "0x" + "g" * 64, 7, None, ["0x"], "0x" + "0" * 66])
def test_a_hostile_answer_becomes_no_balance(proxy: RpcProxy, beside: Beside, lie: Any) -> None:
    shop = watch(SHOP, chain="polygon")
    proxy.fault = results(lambda method, result: lie if method == "eth_call" else result)
    with pytest.raises(ChainError):
        beside.tick()
    assert held_by(shop) == {}
