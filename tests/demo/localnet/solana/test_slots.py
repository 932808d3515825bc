"""Slots that pass by themselves, computed from the clock."""

from demo.localnet.solana.slots import FIRST_SLOT, Slots


class Clock:
    def __init__(self) -> None:
        self.seconds = 1_000.0

    def __call__(self) -> float:
        return self.seconds


def test_slots_pass_by_the_clock() -> None:
    clock = Clock()
    slots = Slots(clock)
    clock.seconds += 4
    assert slots.current == FIRST_SLOT + 10
    assert slots.head("confirmed") == FIRST_SLOT + 9
    assert slots.time_of(FIRST_SLOT + 5) == 1_002


def test_a_skipped_slot_has_no_block_and_is_no_head() -> None:
    slots = Slots(Clock())
    slots.skip(2)
    assert slots.current == FIRST_SLOT + 3
    assert not slots.has_block(FIRST_SLOT + 1)
    assert slots.head("confirmed") == FIRST_SLOT


def test_a_chain_that_went_back_goes_on_from_there() -> None:
    clock = Clock()
    slots = Slots(clock)
    slots.advance(10)
    slots.rewind(FIRST_SLOT + 4)
    clock.seconds += 0.5
    assert slots.current == FIRST_SLOT + 5
