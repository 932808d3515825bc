"""A watcher's process: which chain it refuses to watch, and how long it waits between two passes."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from localnet.anvil import Anvil
from tests.waiting import PATIENCE_SECONDS, comes_true, wait_until
from tests.wallets.accountchains import OnSolana, make_expected
from tests.wallets.accountchains import spec_of as account_spec
from tests.wallets.evmkin import spec_of
from tests.wallets.factories import local_spec, make_deposit, make_watcher
from wallets.chains.base import ChainUnavailableError
from wallets.chains.family import ChainSpec
from wallets.models import ChainCursor, Transfer
from wallets.watcher_process import WatchedChain, _Pace, _subscriptions, watch
from wallets.watchers.blocks import Watcher
from wallets.watchers.passes import PassOutcome

if TYPE_CHECKING:
    from localnet.solana.node import SolanaNode


@pytest.fixture
def chains() -> Iterator[list[WatchedChain]]:
    """Chains whose pools are closed at the end."""
    opened: list[WatchedChain] = []
    yield opened
    for chain in opened:
        chain.pool.close()


def refusal(spec: ChainSpec, chains: list[WatchedChain]) -> str | None:
    chains.append(WatchedChain(spec))
    return chains[-1].refusal()


def test_a_chain_is_refused_when_no_node_is_of_it(
    base_node: Anvil, polygon_node: Anvil, chains: list[WatchedChain]
) -> None:
    assert refusal(spec_of("base", base_node.url), chains) is None
    told = refusal(spec_of("base", polygon_node.url), chains)
    assert told is not None
    assert "137" in told


def test_one_node_of_the_chain_suffices(base_node: Anvil, polygon_node: Anvil, chains: list[WatchedChain]) -> None:
    assert refusal(spec_of("base", polygon_node.url, base_node.url), chains) is None


def test_a_pass_that_is_behind_is_followed_at_once() -> None:
    pace = _Pace(2.0)
    assert pace.after(PassOutcome.AHEAD) == 0.0
    assert pace.after(PassOutcome.STANDBY) == 2.0
    assert pace.after(PassOutcome.HALTED) > 2.0


def test_each_failure_doubles_the_pause_until_one_succeeds() -> None:
    pace = _Pace(2.0)
    failed = [pace.after(ValueError()) for _ in range(20)]
    assert failed[:3] == [2.0, 4.0, 8.0]
    # However long it fails, it is tried again.
    assert failed[-1] == max(failed) < 2.0 * 2**19
    pace.after(PassOutcome.STANDBY)
    assert pace.after(ValueError()) == 2.0


def test_a_node_that_asks_us_to_wait_is_heard() -> None:
    assert _Pace(2.0).after(ChainUnavailableError("busy", retry_after=9.0)) == 9.0


@contextmanager
def watched(chain: WatchedChain) -> Iterator[None]:
    """The chain is watched by a thread of its own."""
    end = threading.Event()
    watching = threading.Thread(target=watch, args=([chain],), kwargs={"until": end.wait})
    watching.start()
    try:
        yield
    finally:
        end.set()
        watching.join(PATIENCE_SECONDS)
        assert not watching.is_alive()


def height() -> int:
    """The height up to which Base was read; -1 before the first pass."""
    read = ChainCursor.objects.filter(chain="base").values_list("height", flat=True)
    found = read.first()
    return -1 if found is None else found


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("pushed", [True, False])
def test_a_pushed_block_is_read_before_the_next_poll(base_node: Anvil, pushed: bool) -> None:
    make_deposit()
    url = base_node.url.replace("http", "ws")
    push = {"WS_URL": url} if pushed else {}
    spec = local_spec(base_node.url, POLL_SECONDS="900", **push)
    with watched(WatchedChain(spec)):
        wait_until(lambda: height() >= base_node.block_number())

        def a_new_block_is_read() -> bool:
            base_node.mine()
            mined = base_node.block_number()
            return comes_true(lambda: height() >= mined, seconds=1)

        # The control: without the push the block waits for the poll.
        patience = PATIENCE_SECONDS if pushed else 3
        assert comes_true(a_new_block_is_read, seconds=patience) == pushed


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("pushed", [True, False])
def test_a_pushed_payment_on_solana_is_read_before_the_next_poll(solana_node: "SolanaNode", pushed: bool) -> None:
    chain = OnSolana(solana_node)
    to = chain.new_address()
    make_expected(chain, to)
    push = {"WS_URL": solana_node.ws_url()} if pushed else {}
    spec = account_spec(chain, POLL_SECONDS="900", **push)
    with watched(WatchedChain(spec)):
        wait_until(ChainCursor.objects.filter(chain="solana", height__gte=0).exists)

        def a_new_payment_is_read() -> bool:
            paid = chain.pay(to, 25_000_000)
            return comes_true(Transfer.objects.filter(tx_hash=paid).exists, seconds=1)

        # The control: without the push the payment waits for the poll.
        patience = PATIENCE_SECONDS if pushed else 3
        assert comes_true(a_new_payment_is_read, seconds=patience) == pushed


@pytest.mark.django_db(transaction=True)
def test_an_error_about_subscriptions_does_not_end_the_polling(
    base_node: Anvil, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_watcher: object) -> None:
        raise ValueError("no account can be derived")

    monkeypatch.setattr(Watcher, "subscriptions", fail)
    make_deposit()
    spec = local_spec(base_node.url, POLL_SECONDS="0.2", WS_URL="ws://127.0.0.1:9")
    with watched(WatchedChain(spec)):
        for _ in range(2):
            base_node.mine()
            wait_until(lambda: height() >= base_node.block_number())


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("outcome", "number"), [(PassOutcome.IDLE, 1), (PassOutcome.STANDBY, 0), (PassOutcome.HALTED, 0)]
)
def test_only_who_reads_the_chain_is_subscribed(base_node: Anvil, outcome: PassOutcome, number: int) -> None:
    watcher = make_watcher(base_node.url)
    assert len(_subscriptions(watcher, outcome)) == number
    watcher.close()


def idle_passes(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The times of passes, of which each finds nothing: a moment after they began."""
    passes: list[float] = []

    def one_pass(_watcher: object) -> PassOutcome:
        passes.append(time.monotonic())
        return PassOutcome.IDLE

    monkeypatch.setattr("wallets.watcher_process._one_pass", one_pass)
    return passes


@pytest.mark.django_db(transaction=True)
def test_a_flood_of_notices_does_not_crowd_passes(base_node: Anvil, monkeypatch: pytest.MonkeyPatch) -> None:
    passes = idle_passes(monkeypatch)
    chain = WatchedChain(local_spec(base_node.url, WS_URL="ws://127.0.0.1:9"))
    assert chain.notices is not None
    monkeypatch.setattr(chain.notices, "wait", lambda _seconds: True)
    with watched(chain):
        wait_until(lambda: len(passes) > 5)
    assert min(later - earlier for earlier, later in pairwise(passes)) >= 0.09


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_pushed", [False, True])
def test_what_is_nearly_final_is_not_left_until_the_next_poll(
    base_node: Anvil, monkeypatch: pytest.MonkeyPatch, is_pushed: bool
) -> None:
    passes = idle_passes(monkeypatch)
    monkeypatch.setattr(Watcher, "longest_pause", lambda _self, _poll: 0.2)
    pushes = {"WS_URL": "ws://127.0.0.1:9"} if is_pushed else {}
    spec = local_spec(base_node.url, POLL_SECONDS=str(PATIENCE_SECONDS), **pushes)
    with watched(WatchedChain(spec)):
        wait_until(lambda: len(passes) > 2)
    assert min(later - earlier for earlier, later in pairwise(passes)) >= 0.19
