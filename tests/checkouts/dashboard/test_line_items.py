"""The items that a checkout's metadata names."""

from decimal import Decimal

import pytest

from checkouts.dashboard.line_items import line_items_of

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "items",
    [
        "null",
        "[]",
        "{}",
        '["Ticket"]',
        '[{"name": "", "unit_price": "1.00"}]',
        '[{"name": "A", "unit_price": 1}]',
        '[{"name": "A", "unit_price": "-1.00"}]',
        '[{"name": "A", "unit_price": "1.001"}]',
        '[{"name": "A", "unit_price": "1e3"}]',
        '[{"name": "A", "unit_price": "١"}]',
        '[{"name": "A", "unit_price": "1.00", "quantity": 0}]',
        '[{"name": "A", "unit_price": "1.00", "quantity": true}]',
        '[{"name": "A", "unit_price": "1.00"}, {"name": 2, "unit_price": "1.00"}]',
        "[" + ", ".join(['{"name": "A", "unit_price": "1"}'] * 51) + "]",
    ],
)
def test_items_in_another_form_are_left_as_metadata(items: str) -> None:
    assert line_items_of(f'{{"line_items": {items}}}', amount=Decimal(1)) is None


def test_a_quantity_is_one_unless_it_is_given() -> None:
    metadata = '{"line_items": [{"name": "A", "unit_price": "1200"}]}'
    found = line_items_of(metadata, amount=Decimal(1200))
    assert found is not None
    assert found.is_exact
    assert found.total == "1,200.00"
    assert [line.quantity for line in found.lines] == [1]
