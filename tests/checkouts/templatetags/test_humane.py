"""Numbers as people read them."""

from decimal import Decimal

import pytest

from checkouts.templatetags.humane import short_money

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("amount", "text"), [("0", "0"), ("2.5", "2.50"), ("7", "7"), ("250", "250"), ("7500", "7.5k"), ("2500000", "2.5M")]
)
def test_an_axis_is_short_of_room(amount: str, text: str) -> None:
    assert short_money(Decimal(amount)) == text
