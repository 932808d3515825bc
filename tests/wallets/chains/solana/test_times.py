"""Slots of Solana are reckoned back from the newest one."""

from datetime import timedelta

from demo.localnet.solana.node import SolanaNode
from tests.wallets.chains.solana.reading import open_reader
from wallets.chains.adapters import open_pool
from wallets.chains.registry import load_chains
from wallets.chains.solana.family import SolanaTimes


def test_slots_are_counted_as_if_none_took_longer(solana_node: SolanaNode) -> None:
    spec = load_chains("local", {"SOLANA_RPC_URLS": solana_node.url})["solana"]
    pool = open_pool(spec)
    times = SolanaTimes(spec, pool)
    reader = open_reader(solana_node.url)
    low = reader.head().block
    back = times.before(low.time - timedelta(seconds=4))
    high = reader.head().block
    # Four tenths of a second each; the head may have moved on while it was asked for, and its time by a second.
    assert max(low.height - 13, 0) <= back.height <= max(high.height, 0)
    assert back == times.at(back.height)
    assert times.before(low.time - timedelta(days=9_000)).height == 0
    reader.close()
    pool.close()
