"""What watched wallets hold is what their chain says, and no lie of a node's becomes a balance."""

import base64
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.states import Mode
from demo.localnet.anvil import Anvil
from demo.localnet.funding import payer
from demo.localnet.tokens import (
    balance_of,
    token_address,
)
from demo.localnet.tron.addresses import to_hex
from demo.localnet.tron.node import USDT as USDT_ON_TRON
from demo.localnet.tron.node import TronNode
from tests.nodes.proxy import RpcProxy, results
from tests.wallets.evmkin import spec_of
from tests.wallets.factories import local_spec, make_watcher, read_all
from tests.wallets.paying import transfer
from tests.wallets.watching import Beside, watch
from wallets.chains.adapters import open_pool
from wallets.chains.base import ChainError, MalformedAnswerError
from wallets.chains.solana.balances import held
from wallets.chains.solana.decode import TOKEN_PROGRAM
from wallets.chains.tron.family import TRON_FAMILY
from wallets.models import WatchedBalance, WatchedMovement, WatchedWallet
from wallets.states import Direction, TransferState
from wallets.watched.selectors import (
    balance_days,
    balances_of,
)

pytestmark = pytest.mark.django_db

USDC, USDT = token_address("USDC"), token_address("USDT")
TRON_WALLET = "TPecqY13cLPBbG855V9q7tbMgQhRkwLDVr"
SHOP = "0x000000000000000000000000000000000f5bafe1"


@pytest.fixture(autouse=True)
def settled(settings: Any) -> None:
    """No history is read, and the watcher never rests."""
    settings.WALLET_HISTORY_DAYS = 0
    settings.CHAIN_POLL_SECONDS = settings.CHAIN_IDLE_SECONDS = 0.0


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


def test_every_accepted_token_is_asked_for_when_a_wallet_is_added(
    polygon_node: Anvil, beside: Beside
) -> None:
    transfer(polygon_node, payer(polygon_node), USDC, SHOP, 15)
    shop, other = (
        watch(SHOP, chain="polygon"),
        watch(payer(polygon_node).address, chain="polygon"),
    )
    beside.tick()
    assert held_by(shop) == {"USDC": 15, "USDT": 0}
    assert held_by(other) == {
        symbol: balance_of(polygon_node, token, other.address)
        for symbol, token in (("USDC", USDC), ("USDT", USDT))
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


@pytest.mark.parametrize(
    "lie",
    ["0x", "0x01", "0x" + "g" * 64, 7, None, ["0x"], "0x" + "0" * 66],
)
def test_a_hostile_answer_becomes_no_balance(
    proxy: RpcProxy, beside: Beside, lie: Any
) -> None:
    shop = watch(SHOP, chain="polygon")
    proxy.fault = results(
        lambda method, result: lie if method == "eth_call" else result
    )
    with pytest.raises(ChainError):
        beside.tick()
    assert held_by(shop) == {}


def test_tron_is_asked_for_the_newest_block_which_is_all_it_answers_for(
    tron_node: TronNode,
) -> None:
    spec = spec_of("tron", tron_node.url)
    pool = open_pool(spec)
    payer_key = TRON_FAMILY.address_key(tron_node.payer_address)
    tron_node.pay(TRON_WALLET, 7)
    key = TRON_FAMILY.address_key(TRON_WALLET)
    told = spec.family.open_holdings(spec, pool).read({key: "", payer_key: ""})
    pool.close()
    left = balance_of(
        tron_node.anvil, to_hex(USDT_ON_TRON), to_hex(tron_node.payer_address)
    )
    assert told.units == {key: {"USDT": 7}, payer_key: {"USDT": left}}
    assert told.height == tron_node.anvil.block_number()


def token_account(owner: bytes, mint: bytes, units: int, *, state: int = 1) -> Any:
    """A token account as a node tells it."""
    data = mint + owner + units.to_bytes(8, "little") + bytes(36)
    data += bytes([state]) + bytes(56)
    body = base64.b64encode(data).decode()
    return {"owner": TOKEN_PROGRAM, "data": [body, "base64"]}


OWNER, MINT, STRANGER = b"\x01" * 32, bytes(32), b"\x02" * 32
MINT_NAME = "1" * 32


@pytest.mark.parametrize(
    ("account", "units"),
    [
        pytest.param(None, 0, id="none"),
        pytest.param(token_account(OWNER, MINT, 2**64 - 1), 2**64 - 1, id="full"),
        pytest.param(token_account(STRANGER, MINT, 5), 0, id="handed over"),
        pytest.param(token_account(OWNER, MINT, 5, state=0), 0, id="not set up"),
        pytest.param({"owner": "1" * 32, "data": ["", "base64"]}, 0, id="only coins"),
    ],
)
def test_a_token_account_counts_only_where_it_is_the_owners(
    account: Any, units: int
) -> None:
    assert held(account, owner=OWNER, mint=MINT_NAME, program=TOKEN_PROGRAM) == units


@pytest.mark.parametrize(
    "account",
    [
        pytest.param(7, id="no object"),
        pytest.param({"owner": TOKEN_PROGRAM}, id="no data"),
        pytest.param({"owner": TOKEN_PROGRAM, "data": ["AAAA", "base64"]}, id="short"),
        pytest.param({"owner": TOKEN_PROGRAM, "data": ["*", "base64"]}, id="no base64"),
        pytest.param(token_account(OWNER, STRANGER, 5), id="another token"),
    ],
)
def test_an_impossible_token_account_is_refused(account: Any) -> None:
    with pytest.raises(MalformedAnswerError):
        held(account, owner=OWNER, mint=MINT_NAME, program=TOKEN_PROGRAM)


def make_movement(
    wallet: WatchedWallet,
    units: int,
    direction: Direction,
    *,
    days_ago: int,
    **values: Any,
) -> None:
    """A movement some days ago, in block 10 - `days_ago`."""
    time = timezone.now() - timedelta(days=days_ago)
    given = {
        "wallet": wallet,
        "merchant": wallet.merchant,
        "mode": Mode.LIVE,
        "direction": direction,
        "chain": wallet.chain,
        "tx_hash": f"0x{units}",
        "position": 0,
        "token": "USDC",
        "token_address": USDC,
        "units": units,
        "counterparty": SHOP,
        "block_height": 10 - days_ago,
        "block_hash": "0x1",
        "block_time": time,
        "detected_at": time,
    }
    WatchedMovement.objects.create(**(given | values))


def test_what_was_held_is_counted_back_from_the_last_reading() -> None:
    wallet, now = watch(SHOP), timezone.now()
    WatchedBalance.objects.create(
        wallet=wallet, token="USDC", units=100, height=9, read_at=now
    )
    make_movement(wallet, 30, Direction.IN, days_ago=1)
    make_movement(wallet, 20, Direction.OUT, days_ago=3)
    # Recorded after the balance was read, and one that a fork took.
    make_movement(wallet, 7, Direction.IN, days_ago=0)
    make_movement(wallet, 500, Direction.IN, days_ago=1, state=TransferState.ORPHANED)
    today = now.date()
    days = balance_days(wallet, days=30, today=today)["USDC"]
    assert [units for _, units in days] == [70, 70, 100, 107]
    assert (days[0][0], days[-1][0]) == (today - timedelta(days=3), today)
    assert balance_days(wallet, days=2, today=today)["USDC"] == days[-2:]
