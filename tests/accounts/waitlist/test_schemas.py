"""The description of the waitlist has the fields that are read and told."""

from accounts.models import FiatInterest as Row
from accounts.waitlist import schemas
from accounts.waitlist.payloads import interest_payload
from tests.factories import NOON


def test_the_description_has_what_is_told() -> None:
    told = interest_payload(Row(created_at=NOON))
    assert set(schemas.FiatInterest().fields) == set(told)


def test_only_the_address_must_be_given() -> None:
    fields = schemas.NewFiatInterest().fields
    assert [name for name, field in fields.items() if field.required] == ["email"]
