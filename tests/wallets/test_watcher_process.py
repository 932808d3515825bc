"""A watcher's process: which chain it refuses to watch, and how long it waits between two passes."""

from collections.abc import Iterator

import pytest

from demo.localnet.anvil import Anvil
from tests.wallets.evmkin import spec_of
from wallets.chains.base import ChainUnavailableError
from wallets.chains.specs import ChainSpec
from wallets.watcher_process import WatchedChain, _Pace
from wallets.watchers.passes import Outcome


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


def test_one_node_of_the_chain_suffices(
    base_node: Anvil, polygon_node: Anvil, chains: list[WatchedChain]
) -> None:
    assert refusal(spec_of("base", polygon_node.url, base_node.url), chains) is None


def test_a_pass_that_is_behind_is_followed_at_once() -> None:
    pace = _Pace(2.0)
    assert pace.after(Outcome.AHEAD) == 0.0
    assert pace.after(Outcome.STANDBY) == 2.0
    assert pace.after(Outcome.HALTED) > 2.0


def test_each_failure_doubles_the_pause_until_one_succeeds() -> None:
    pace = _Pace(2.0)
    failed = [pace.after(ValueError()) for _ in range(20)]
    assert failed[:3] == [2.0, 4.0, 8.0]
    # However long it fails, it is tried again.
    assert failed[-1] == max(failed) < 2.0 * 2**19
    pace.after(Outcome.STANDBY)
    assert pace.after(ValueError()) == 2.0


def test_a_node_that_asks_us_to_wait_is_heard() -> None:
    assert _Pace(2.0).after(ChainUnavailableError("busy", retry_after=9.0)) == 9.0
