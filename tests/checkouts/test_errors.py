"""What can go wrong with checkouts."""

from checkouts.errors import IllegalMoveError
from checkouts.states import CheckoutStatus


def test_an_illegal_move_names_the_checkout_and_both_ends() -> None:
    error = IllegalMoveError("chk_1", CheckoutStatus.EXPIRED, CheckoutStatus.PENDING)
    assert str(error) == "chk_1 cannot go from expired to pending"
