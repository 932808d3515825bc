"""How much of what was read is remembered."""

from datetime import UTC, datetime

from wallets.chains.solana.adapter import MOST_REMEMBERED, TransactionMemory
from wallets.chains.solana.changes import Effects, ReadTransaction


def test_what_is_remembered_is_bounded_and_the_longest_unused_goes_first() -> None:
    memory = TransactionMemory()
    read = ReadTransaction(5, datetime(2026, 1, 1, tzinfo=UTC), frozenset(), True, Effects())
    for number in range(MOST_REMEMBERED):
        memory.keep(str(number), read)
    assert set(memory.recall({"0": 5, "1": 6})) == {"0"}
    memory.keep("one more", read)
    assert set(memory.recall({"0": 5, "1": 5, "one more": 5})) == {"0", "one more"}
