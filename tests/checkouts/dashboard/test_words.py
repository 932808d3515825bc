"""What the merchant's pages call statuses."""

import pytest

from checkouts.dashboard.words import CANCELLED, status_badge
from checkouts.models import Checkout
from checkouts.states import CheckoutException, CheckoutStatus
from tests.factories import NOON


@pytest.mark.parametrize(
    ("status", "exception", "label"),
    [
        (CheckoutStatus.PROCESSING, CheckoutException.NONE, "Confirming"),
        (CheckoutStatus.COMPLETED, CheckoutException.NONE, "Completed"),
        (CheckoutStatus.COMPLETED, CheckoutException.REVERSED, "Reversed"),
        (CheckoutStatus.EXPIRED, CheckoutException.UNDERPAID, "Expired, part paid"),
    ],
)
def test_an_exception_is_told_where_there_is_one(
    status: CheckoutStatus, exception: CheckoutException, label: str
) -> None:
    assert status_badge(Checkout(status=status, exception=exception)).label == label
    # A payment in doubt is neither confirming nor completed; what was reversed is known to be.
    doubted = status_badge(Checkout(status=status, exception=exception), is_doubted=True).label
    assert doubted == (label if label == "Reversed" else "In doubt")


def test_a_cancelled_checkout_is_called_so_whatever_its_status() -> None:
    expired = Checkout(status=CheckoutStatus.EXPIRED, cancelled_at=NOON)
    assert status_badge(expired) == CANCELLED


@pytest.mark.parametrize("status", CheckoutStatus)
@pytest.mark.parametrize("exception", CheckoutException)
def test_every_checkout_has_a_word(status: CheckoutStatus, exception: CheckoutException) -> None:
    assert status_badge(Checkout(status=status, exception=exception)).label
