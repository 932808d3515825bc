"""A transaction is looked up on every chain it may be of, in little time, and without taking the nodes from the watchers."""

import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection

from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.tokens import token_address
from localnet.tron import TronNode
from tests.factories import make_merchant
from tests.nodes.proxy import RpcProxy, hangs, honest
from tests.waiting import wait_until
from tests.wallets.factories import address_of, make_deposit, make_watcher, read_all
from tests.wallets.paying import transfer
from wallets import lookup
from wallets.chains.evm.adapter import EvmAdapter
from wallets.chains.evm.family import EvmFamily
from wallets.chains.rpc import client
from wallets.lookup import UnreadableHashError, look_up, recorded
from wallets.models import Transfer

if TYPE_CHECKING:
    from localnet.solana.node import SolanaNode
    from localnet.ton.node import TonNode

pytestmark = pytest.mark.django_db
USDC = token_address("USDC")
NOBODYS = "0x" + "5a" * 32
DEAD_NODE = "http://127.0.0.1:1"
CHOSEN = "0x00000000000000000000000000000000000a11ce"


@pytest.fixture(autouse=True)
def no_chains(settings: Any) -> None:
    """None but those a test configures."""
    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = {}


def configure(settings: Any, **given: str) -> None:
    """Add to the chains' settings."""
    settings.CHAIN_SETTINGS = settings.CHAIN_SETTINGS | given


def evm_settings(chain: str, *urls: str) -> dict[str, str]:
    """A chain of Ethereum's kin with the test's USDC."""
    return {f"{chain}_RPC_URLS": ",".join(urls), f"{chain}_TOKEN_USDC": USDC}


@pytest.fixture
def proxy(base_node: Anvil, settings: Any) -> Iterator[RpcProxy]:
    """Base, behind a proxy."""
    with RpcProxy(base_node.url) as proxy:
        configure(settings, **evm_settings("BASE", proxy.url))
        yield proxy


def pay(node: Anvil, to: str = CHOSEN) -> str:
    """Pay 25 units; return the hash."""
    return transfer(node, payer(node), USDC, to, 25)


def test_each_of_six_chains_is_found_by_what_its_people_paste(
    base_node: Anvil,
    polygon_node: Anvil,
    ethereum_node: Anvil,
    tron_node: TronNode,
    solana_node: "SolanaNode",
    ton_node: "TonNode",
    settings: Any,
) -> None:
    from solders.keypair import Keypair

    evm = {"base": base_node, "polygon": polygon_node, "ethereum": ethereum_node}
    for chain, node in evm.items():
        configure(settings, **evm_settings(chain.upper(), node.url))
    configure(settings, TRON_RPC_URLS=tron_node.url, SOLANA_RPC_URLS=solana_node.url)
    configure(settings, TON_RPC_URLS=ton_node.url, TON_TOKEN_USDT=ton_node.usdt)
    owner = ton_node.create_wallet().address
    pasted = {chain: f"{chain}scan.example/tx/{pay(evm[chain])}" for chain in evm}
    wallet = "TPecqY13cLPBbG855V9q7tbMgQhRkwLDVr"
    pasted["tron"] = f"https://tronscan.org/#/transaction/{tron_node.pay(wallet, 25)}"
    pasted["solana"] = f"'{solana_node.pay(str(Keypair().pubkey()), 25)}'"
    pasted["ton"] = ton_node.pay(owner, 25).upper()
    for chain, text in pasted.items():
        looked = look_up(text)
        assert [one.chain for one in looked.transactions] == [chain]
        assert [one.units for one in looked.transactions[0].transfers] == [25]
        assert looked.unasked == ()


def test_what_nobody_knows_is_found_nowhere_though_all_were_asked(proxy: RpcProxy) -> None:
    assert look_up(NOBODYS) == lookup.Lookup((), ())


def test_what_is_no_hash_asks_nobody(proxy: RpcProxy) -> None:
    with pytest.raises(UnreadableHashError):
        look_up("my payment of yesterday")
    assert proxy.requests == 0


def test_a_chain_that_cannot_have_it_is_not_asked(proxy: RpcProxy, settings: Any) -> None:
    configure(settings, SOLANA_RPC_URLS=DEAD_NODE)
    assert look_up(NOBODYS) == lookup.Lookup((), ())


def test_a_chain_whose_nodes_do_not_answer_is_told_of(proxy: RpcProxy, base_node: Anvil, settings: Any) -> None:
    configure(settings, POLYGON_RPC_URLS=DEAD_NODE)
    looked = look_up(pay(base_node))
    assert [one.chain for one in looked.transactions] == ["base"]
    assert looked.unasked == ("polygon",)


def test_one_deadline_stands_over_all_chains(
    proxy: RpcProxy, base_node: Anvil, polygon_node: Anvil, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Or the nodes' silence would end it as soon.
    monkeypatch.setattr(client, "SILENT_SECONDS", 60.0)
    configure(settings, **evm_settings("POLYGON", polygon_node.url))
    with RpcProxy(base_node.url) as silent:
        silent.fault = hangs
        configure(settings, TRON_RPC_URLS=silent.url, TON_RPC_URLS=silent.url)
        tx_hash, began = pay(base_node), time.monotonic()
        looked = look_up(tx_hash, deadline_seconds=3.0)
        # By default it is eight, and a request takes ten.
        assert time.monotonic() - began < 7.0
    assert [one.chain for one in looked.transactions] == ["base"]
    assert looked.unasked == ("ton", "tron")


def test_a_chain_that_hangs_takes_only_so_many_threads(
    proxy: RpcProxy, base_node: Anvil, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = threading.BoundedSemaphore(1)
    monkeypatch.setitem(lookup._free_places, "base", places)
    tx_hash = pay(base_node)
    proxy.fault = hangs
    assert look_up(tx_hash, deadline_seconds=0.1).unasked == ("base",)
    wait_until(lambda: proxy.requests)
    asked = proxy.requests
    assert look_up(tx_hash, deadline_seconds=0.1).unasked == ("base",)
    assert proxy.requests == asked
    proxy.fault = honest
    proxy.released.set()
    # Who gave up waiting gives the place back all the same.
    wait_until(lambda: places._value == 1)
    assert [one.tx_hash for one in look_up(tx_hash).transactions] == [tx_hash]


def test_the_nodes_are_asked_only_so_often_whoever_asks(proxy: RpcProxy, settings: Any) -> None:
    configure(settings, BASE_REQUESTS_PER_MINUTE="6")
    asked = []
    # A minute may end in between.
    for _ in range(14):
        before = proxy.requests
        was_asked = look_up(NOBODYS).unasked == ()
        assert (proxy.requests > before) is was_asked
        asked.append(was_asked)
    assert asked[:6] == [True] * 6
    assert not all(asked)


def test_one_who_asks_often_leaves_a_quarter_of_the_share_to_others(proxy: RpcProxy, settings: Any) -> None:
    configure(settings, BASE_REQUESTS_PER_MINUTE="60")
    # A minute may end in between.
    asked = [look_up(NOBODYS, asker="one").unasked == () for _ in range(19)]
    assert asked[:9] == [True] * 9
    assert not all(asked)
    assert look_up(NOBODYS, asker="two").unasked == ()


def test_of_all_chains_only_the_named_one_is_asked(proxy: RpcProxy, base_node: Anvil, settings: Any) -> None:
    configure(settings, POLYGON_RPC_URLS=DEAD_NODE)
    tx_hash = pay(base_node)
    assert look_up(tx_hash, chain="base").unasked == ()
    assert look_up(tx_hash, chain="polygon") == lookup.Lookup((), ("polygon",))


def test_a_chain_adapter_that_breaks_leaves_the_page_whole(proxy: RpcProxy, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*_: object) -> None:
        raise RuntimeError("a mistake of ours")

    monkeypatch.setattr(EvmFamily, "open_adapter", breaks)
    assert look_up(NOBODYS).unasked == ("base",)


def test_what_is_recorded_of_a_transaction_is_told_whosever_it_is(base_node: Anvil, settings: Any) -> None:
    configure(settings, **evm_settings("BASE", base_node.url))
    watcher = make_watcher(base_node.url)
    tx_hash = pay(base_node, address_of(make_deposit(make_merchant())))
    other = pay(base_node, address_of(make_deposit(make_merchant())))
    read_all(watcher)
    watcher.close()
    [found] = look_up(tx_hash).transactions
    assert [row.tx_hash for row in recorded(found)] == [tx_hash]
    assert Transfer.objects.filter(tx_hash=other).count() == 1


@pytest.mark.sessions
def test_a_connection_waits_for_the_next_question_and_is_closed_by_one_that_comes_late(
    proxy: RpcProxy, base_node: Anvil, monkeypatch: pytest.MonkeyPatch
) -> None:
    tx_hash, before = pay(base_node), open_connections()
    close, closed = EvmAdapter.close, []

    def close_and_tell(adapter: EvmAdapter) -> None:
        close(adapter)
        closed.append(adapter)

    assert look_up(tx_hash).transactions
    monkeypatch.setattr(EvmAdapter, "close", close_and_tell)
    assert look_up(tx_hash).transactions
    assert not closed
    monkeypatch.setattr(lookup, "_IDLE_SECONDS", 0.0)
    assert look_up(tx_hash).transactions
    assert len(closed) == 1
    # The threads that ask have none to the database.
    assert open_connections() <= before


def open_connections() -> int:
    """How many sessions the test's database has."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
        return int(cursor.fetchone()[0])
