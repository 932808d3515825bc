"""Which newest blocks are believed on a chain that is read by account."""

from datetime import timedelta

import pytest

from tests.wallets.accounts import NOW, solana_spec
from wallets.chains.base import BlockRef, ChainUnavailableError, MalformedAnswerError
from wallets.models import ChainCursor
from wallets.watchers.accounts import check_not_far_behind, head_check

PUBLIC = solana_spec(NETWORK="mainnet")
READ = ChainCursor(chain="solana", height=1_000, head=1_000, head_time=NOW)
UNREAD = ChainCursor(chain="solana")


def block(height: int, *, after: timedelta = timedelta()) -> BlockRef:
    """A block so long after the last one that was read."""
    return BlockRef(height, f"slot:{height}", "", NOW + after)


@pytest.mark.parametrize(
    ("height", "after"),
    [
        (1_001, timedelta()),
        (1_120, timedelta()),
        (1_003, timedelta(seconds=1)),
        (900, timedelta(seconds=-40)),
        (1_000 + 3 * 24 * 9_000, timedelta(days=3)),
    ],
)
def test_a_chain_goes_on_after_any_pause(height: int, after: timedelta) -> None:
    head_check(PUBLIC, READ, now=NOW + after)(block(height, after=after))


def test_any_height_is_believed_where_none_was_read() -> None:
    head_check(PUBLIC, UNREAD, now=NOW)(block(10**9))


def test_a_local_chain_may_make_any_number_of_blocks_at_once() -> None:
    head_check(solana_spec(), READ, now=NOW)(block(10**9, after=timedelta(days=9)))


@pytest.mark.parametrize("after", [timedelta(days=-1), timedelta(), timedelta(hours=1)])
def test_no_chain_makes_blocks_much_faster_than_usual(after: timedelta) -> None:
    check = head_check(PUBLIC, READ, now=NOW + after)
    with pytest.raises(MalformedAnswerError, match="too far above 1000"):
        check(block(10**6, after=after))


def test_a_block_of_the_future_is_not_believed() -> None:
    check = head_check(PUBLIC, UNREAD, now=NOW)
    check(block(1_001, after=timedelta(minutes=10)))
    with pytest.raises(MalformedAnswerError, match="future"):
        check(block(1_001, after=timedelta(minutes=11)))


def test_a_node_may_lag_by_a_minute() -> None:
    check_not_far_behind(PUBLIC, READ, block(850))
    with pytest.raises(ChainUnavailableError, match="849 is 151 below"):
        check_not_far_behind(PUBLIC, READ, block(849))
