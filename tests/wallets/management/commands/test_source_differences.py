"""`manage.py source_differences` lists what sources tell differently, and closes what a person has looked at."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from tests.wallets.factories import make_difference
from wallets.models import SourceDifference

pytestmark = pytest.mark.django_db


def told(*arguments: str) -> str:
    output = StringIO()
    call_command("source_differences", *arguments, stdout=output)
    return output.getvalue()


def test_open_differences_are_listed() -> None:
    assert told().startswith("All sources agree")
    found = make_difference()
    assert told().startswith(f"{found.pk}  base  missed  1 units of USDC to 0x02")


def test_what_was_closed_is_not_listed_again() -> None:
    found = make_difference()
    assert told("--close", str(found.pk)) == "Closed: 1.\n"
    assert told().startswith("All sources agree")


def test_a_wrong_number_closes_nothing() -> None:
    found = make_difference()
    with pytest.raises(CommandError, match="Nothing was closed"):
        told("--close", str(found.pk), str(found.pk + 1))
    assert SourceDifference.objects.get().closed_at is None
