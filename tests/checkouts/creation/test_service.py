"""The one statement that creates a checkout."""

import re

import pytest

from checkouts.creation import service
from checkouts.models import Checkout

# What a new checkout does not have yet.
LATER = {"id", "price", "replaces_id", "paid_at", "cancelled_at", "accepted_amount"}
# The parts that few checkouts need, and the table that each writes.
ADDED = {"steps": "checkouts_teststep", "held": "settlements_hold"}


def test_the_insert_names_every_column_of_a_new_checkout():
    [columns] = re.findall(r"INSERT INTO checkouts_checkout \((.*?)\)", service._CREATED, re.DOTALL)
    named = {column.strip() for column in columns.split(",")}
    assert named == {field.column for field in Checkout._meta.concrete_fields} - LATER


@pytest.mark.parametrize(
    ("is_test", "escrow", "added"), [(True, False, {"steps"}), (False, True, {"held"}), (True, True, set(ADDED))]
)
def test_test_mode_adds_its_steps_and_escrow_its_hold_and_nothing_else(is_test, escrow, added):
    usual, this = parts_of(service._STATEMENTS[False, False]), parts_of(service._STATEMENTS[is_test, escrow])
    assert set(this) - set(usual) == added
    assert {name: sql for name, sql in this.items() if name not in added} == usual
    assert all(ADDED[name] in this[name] for name in added)


def parts_of(statement: str) -> dict[str, str]:
    """Return a statement's named parts, and what follows the last one."""
    _, *parts = re.split(r"(\w+) AS MATERIALIZED \(", statement)
    return dict(zip(parts[::2], parts[1::2], strict=True))
