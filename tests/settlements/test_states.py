"""The choices settlements know."""

from settlements.states import ON_THEIR_WAY, TransactionState


def test_what_was_mined_or_can_never_be_is_not_on_its_way() -> None:
    ended = {TransactionState.MINED, TransactionState.DROPPED}
    assert set(ON_THEIR_WAY) == set(TransactionState) - ended
