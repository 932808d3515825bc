"""`manage.py run_watchers` as processes of their own."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.tokens import token_address
from tests.database import own_database
from tests.freezing import freeze
from tests.nodes import proxy as faults
from tests.nodes.proxy import RpcProxy
from tests.tree import ROOT
from tests.waiting import PATIENCE_SECONDS, wait_until
from tests.wallets.accountchains import AccountChain, OnSolana, OnTon, make_expected
from tests.wallets.factories import address_of, make_deposit
from tests.wallets.paying import transfer
from wallets.models import EPOCH, AccountCursor, ChainCursor, Transfer

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.faults]
USDC = token_address("USDC")
# A busy machine takes most of a minute to start a process.
START_SECONDS = PATIENCE_SECONDS
NINE = timedelta(seconds=9)


class Watchers:
    """A `run_watchers` process; its output is in a file."""

    def __init__(self, log: Path, urls: dict[str, str], settings: dict[str, str]) -> None:
        self.log = log
        with log.open("w") as output:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "run_watchers"],
                cwd=ROOT,
                env=environment(urls) | settings,
                stdout=output,
                stderr=output,
            )

    def said(self, words: str) -> bool:
        return words in self.log.read_text()

    def end(self) -> None:
        # A frozen process gets its signals once it goes on.
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait()


def environment(urls: dict[str, str]) -> dict[str, str]:
    """Settings of a gateway that uses this test's database and these nodes."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CHAIN_")}
    chains = {f"CHAIN_{chain}_RPC_URLS": url for chain, url in urls.items()}
    kin = urls.keys() - {"SOLANA", "TON"}
    tokens = {f"CHAIN_{chain}_TOKEN_USDC": USDC for chain in kin}
    return kept | {
        **own_database(),
        "FLORIN_ENV": "development",
        "CHAIN_NETWORK": "local",
        "CHAIN_POLL_SECONDS": "0.1",
        # Longer than any test waits: what is seen sooner is seen because somebody was expected to pay.
        "CHAIN_IDLE_SECONDS": "600",
        **chains,
        **tokens,
    }


Start = Callable[..., Watchers]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[Watchers] = []

    def start_watchers(*, settings: dict[str, str] | None = None, **urls: str) -> Watchers:
        watchers = Watchers(tmp_path / f"{len(started)}.log", urls, settings or {})
        started.append(watchers)
        wait_until(lambda: watchers.said("Watching: ") or watchers.process.poll() is not None, seconds=START_SECONDS)
        return watchers

    yield start_watchers
    for watchers in started:
        watchers.end()


def far_off() -> datetime:
    """Further off than full pace."""
    return timezone.now() + timedelta(minutes=5)


def owner() -> str:
    return ChainCursor.objects.get(chain="base").owner


def is_read(node: Anvil, chain: str = "base") -> bool:
    cursor = ChainCursor.objects.filter(chain=chain).first()
    return cursor is not None and cursor.height == node.block_number()


def units_seen() -> list[int]:
    return [int(units) for units in Transfer.objects.order_by("units").values_list("units", flat=True)]


def test_it_reads_each_chain_and_ends_when_told_with_its_lease_given_back(
    start: Start, base_node: Anvil, polygon_node: Anvil
) -> None:
    watchers = start(BASE=base_node.url, POLYGON=polygon_node.url)
    to = address_of(make_deposit())
    transfer(base_node, payer(base_node), USDC, to, 25)
    transfer(polygon_node, payer(polygon_node), USDC, to, 26)
    wait_until(lambda: units_seen() == [25, 26])
    watchers.process.send_signal(signal.SIGTERM)
    assert watchers.process.wait(START_SECONDS) == 0
    assert watchers.said("Watching: base, polygon.")
    assert list(ChainCursor.objects.values_list("owner", flat=True)) == ["", ""]


def test_it_ends_in_time_while_no_node_answers(start: Start, base_node: Anvil) -> None:
    make_deposit()
    with ExitStack() as exits:
        proxies = [exits.enter_context(RpcProxy(base_node.url)) for _ in range(3)]
        watchers = start(BASE=",".join(proxy.url for proxy in proxies))
        wait_until(lambda: is_read(base_node))
        for proxy in proxies:
            proxy.fault = faults.hangs
        # The others are asked for surveys too, which a pass does without.
        asked = proxies[0].requests
        wait_until(lambda: proxies[0].requests > asked)
        watchers.process.send_signal(signal.SIGTERM)
        assert watchers.process.wait(START_SECONDS) == 0
    assert watchers.said("cut off while reading")
    assert ChainCursor.objects.get().owner


def test_a_killed_watcher_is_followed_by_another(start: Start, base_node: Anvil) -> None:
    to = address_of(make_deposit())
    first = start(BASE=base_node.url)
    wait_until(lambda: is_read(base_node))
    second = start(BASE=base_node.url)
    first.process.kill()
    transfer(base_node, payer(base_node), USDC, to, 25)
    # Its lease runs out after ten seconds; here they pass at once.
    wait_until(lambda: first.process.poll() is not None)
    ChainCursor.objects.update(lease_until=EPOCH)
    wait_until(lambda: units_seen() == [25])
    assert str(second.process.pid) in owner()


def test_a_frozen_watcher_that_wakes_up_harms_nothing(start: Start, base_node: Anvil) -> None:
    to = address_of(make_deposit())
    # The fork below replaces an empty block, not one that deployed or funded what the test needs.
    base_node.mine(2)
    first = start(BASE=base_node.url)
    wait_until(lambda: is_read(base_node))
    second = start(BASE=base_node.url)
    freeze(first.process.pid)
    ChainCursor.objects.update(lease_until=EPOCH)
    base_node.reorg(1)
    transfer(base_node, payer(base_node), USDC, to, 25)
    # If it was frozen inside a transaction, the database ends that after ten seconds.
    wait_until(lambda: units_seen() == [25], seconds=START_SECONDS)
    first.process.send_signal(signal.SIGCONT)
    transfer(base_node, payer(base_node), USDC, to, 26)
    wait_until(lambda: units_seen() == [25, 26])
    assert is_read(base_node)
    assert second.process.poll() is None


@pytest.mark.sessions
def test_it_goes_on_after_its_node_and_its_database_connection_were_lost(start: Start, base_node: Anvil) -> None:
    to = address_of(make_deposit())
    with RpcProxy(base_node.url) as proxy:
        start(BASE=proxy.url)
        wait_until(lambda: is_read(base_node))
        proxy.fault = faults.drops
        wait_until(lambda: bool(ChainCursor.objects.get().last_error))
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        transfer(base_node, payer(base_node), USDC, to, 25)
        proxy.fault = faults.honest
        wait_until(lambda: units_seen() == [25], seconds=START_SECONDS)
        assert ChainCursor.objects.get().last_error == ""


def test_a_node_of_another_chain_is_refused_loudly(start: Start, base_node: Anvil) -> None:
    watchers = start(POLYGON=base_node.url)
    assert watchers.process.wait(START_SECONDS) == 1
    assert watchers.said("polygon is not watched")
    assert watchers.said("chain id 8453, not 137")


def test_the_other_chains_are_read_all_the_same(start: Start, base_node: Anvil) -> None:
    watchers = start(POLYGON=base_node.url, BASE=base_node.url)
    wait_until(lambda: is_read(base_node))
    assert watchers.said("polygon is not watched")
    assert watchers.said("Watching: base.")


def test_a_resting_chain_is_read_within_a_poll_of_a_new_checkout(start: Start, base_node: Anvil) -> None:
    start(BASE=base_node.url)
    wait_until(lambda: is_read(base_node))
    wait_until(lambda: ChainCursor.objects.filter(due_at__gt=far_off()).exists())
    requests = ChainCursor.objects.get().requests
    base_node.mine(3)
    wait_until(lambda: ChainCursor.objects.get().lease_until > timezone.now() + NINE)
    assert ChainCursor.objects.get().requests == requests
    to = address_of(make_deposit())
    transfer(base_node, payer(base_node), USDC, to, 25)
    wait_until(lambda: units_seen() == [25])


def test_account_chains_are_read_beside_the_others(
    start: Start, base_node: Anvil, solana_node: Any, ton_node: Any
) -> None:
    chains: list[AccountChain] = [OnSolana(solana_node), OnTon(ton_node)]
    tokens = {f"CHAIN_{key}": value for one in chains for key, value in one.settings.items()}
    to = {chain.name: chain.new_address() for chain in chains}
    for chain in chains:
        make_expected(chain, to[chain.name])
    watchers = start(BASE=base_node.url, SOLANA=solana_node.url, TON=ton_node.url, settings=tokens)
    wait_until(lambda: AccountCursor.objects.filter(read_at__isnull=False).count() == 2)
    paid = {chain.pay(to[chain.name], 25) for chain in chains}
    solana_node.advance(5)
    ton_node.advance(5)
    wait_until(lambda: set(Transfer.objects.values_list("tx_hash", flat=True)) == paid)
    assert watchers.said("Watching: base, solana, ton.")
    watchers.process.send_signal(signal.SIGTERM)
    assert watchers.process.wait(START_SECONDS) == 0
    assert set(ChainCursor.objects.values_list("owner", flat=True)) == {""}
