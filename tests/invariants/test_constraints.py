"""Constraints that carry an invariant by themselves: each refuses a row, and without it that row is written."""

import pytest
from django.db import IntegrityError, connection, models, transaction

from tests.checkouts.schema import alter
from tests.invariants.twins import REFUSED, twin

pytestmark = pytest.mark.django_db


def refused_by(constraint: str) -> models.Model:
    """Return the row, not saved yet, that the constraint refuses."""
    make, changes = REFUSED[constraint]
    row = make()
    return twin(row, **changes(row))


def drop(constraint: str) -> None:
    """Take a constraint, or a unique index, out of the database until the test ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT conrelid::regclass::text FROM pg_constraint WHERE conname = %s", [constraint])
        found = cursor.fetchone()
    if found:
        alter(f"ALTER TABLE {found[0]} DROP CONSTRAINT {constraint} CASCADE")
    else:
        alter(f"DROP INDEX {constraint}")


@pytest.mark.parametrize("constraint", REFUSED)
def test_the_database_refuses_a_row_that_breaks_the_rule(constraint: str) -> None:
    row = refused_by(constraint)
    with pytest.raises(IntegrityError, match=constraint), transaction.atomic():
        row.save(force_insert=True)


@pytest.mark.parametrize("constraint", REFUSED)
def test_without_the_constraint_the_row_is_written(constraint: str) -> None:
    """The negative control of the test above."""
    row = refused_by(constraint)
    drop(constraint)
    row.save(force_insert=True)
    assert type(row)._default_manager.filter(pk=row.pk).exists()
