"""How many blocks to ask a node for at once."""

from wallets.chains.evm.adapter import NEAR_TIP
from wallets.watchers.blocks import LARGEST_WINDOW, WindowSize, window_end


def test_what_is_refused_is_halved_and_not_asked_for_again() -> None:
    size = WindowSize()
    assert size.after_refusal(800) == 400
    assert size.after_success(400, read=400) == 400
    assert size.after_success(100, read=100) == 200


def test_a_window_that_was_not_whole_changes_nothing() -> None:
    assert WindowSize().after_success(800, read=799) == 800


def test_a_limit_is_put_to_the_test_again_after_a_hundred_windows() -> None:
    size = WindowSize()
    size.after_refusal(800)
    for _ in range(99):
        assert size.after_success(400, read=400) == 400
    assert size.after_success(400, read=400) == 800


def test_no_window_is_larger_than_the_largest() -> None:
    size = WindowSize()
    assert size.after_success(LARGEST_WINDOW, read=LARGEST_WINDOW) == LARGEST_WINDOW


def test_far_from_the_head_a_window_stops_short_of_it() -> None:
    assert window_end(1, 100, head_height=10_000) == 100
    assert window_end(1, 10_000, head_height=5_000) == 5_000 - NEAR_TIP
    assert window_end(5_000, 10_000, head_height=5_003) == 5_003
