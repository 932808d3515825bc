"""The one statement that creates a checkout."""

import re

from checkouts.creation import service
from checkouts.models import Checkout

# What a new checkout does not have yet.
LATER = {"id", "replaces_id", "paid_at", "cancelled_at"}


def test_the_insert_names_every_column_of_a_new_checkout():
    [columns] = re.findall(r"INSERT INTO checkouts_checkout \((.*?)\)", service._CREATE, re.DOTALL)
    named = {column.strip() for column in columns.split(",")}
    assert named == {field.column for field in Checkout._meta.concrete_fields} - LATER


def test_test_mode_adds_its_steps_and_changes_nothing_else():
    with_steps = service._CREATE_WITH_STEPS
    added = with_steps[with_steps.index("), steps AS (") : with_steps.index("), counted AS (")]
    assert "checkouts_teststep" in added
    assert with_steps.replace(added, "") == service._CREATE
