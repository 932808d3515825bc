"""What the API tells of a place on the waitlist, and that its description says the same."""

from decimal import Decimal

from accounts.models import FiatInterest
from accounts.states import Mode
from accounts.waitlist.payloads import interest_payload
from tests.factories import NOON


def test_what_was_not_said_is_null() -> None:
    said = interest_payload(FiatInterest(public_id="fia_1", email="a@b.example", mode=Mode.TEST, created_at=NOON))
    assert (said["company"], said["country"], said["monthly_volume"]) == (None,) * 3
    assert said["livemode"] is False


def test_a_volume_is_an_amount_in_text() -> None:
    said = interest_payload(FiatInterest(monthly_volume=Decimal("50000.00"), mode=Mode.LIVE, created_at=NOON))
    assert said["monthly_volume"] == "50000.00"
    assert said["livemode"] is True
