"""The merchant's time zone: a known one, audited once, and UTC where a machine does not know it."""

from datetime import UTC
from zoneinfo import ZoneInfo

import pytest

from accounts.audit.actors import Actor
from accounts.merchants.time_zones import set_time_zone, zone_names, zone_of
from accounts.models import AuditEntry, Merchant, User
from gateway.core.api.errors import InvalidRequestError
from tests.factories import NOON

pytestmark = pytest.mark.django_db


def test_a_change_is_audited_once(owned_merchant: Merchant, member: User) -> None:
    for _ in range(2):
        set_time_zone(owned_merchant, "Europe/Berlin", now=NOON, actor=Actor(member))
    entry = AuditEntry.objects.get(action="merchant.time_zone_set")
    assert (entry.before, entry.after) == ({"time_zone": "UTC"}, {"time_zone": "Europe/Berlin"})
    owned_merchant.refresh_from_db()
    assert zone_of(owned_merchant) == ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize("name", ["", "Europe/Atlantis", "../../etc/passwd", "localtime", "europe/berlin", "x" * 300])
def test_what_is_no_zone_is_refused(merchant: Merchant, name: str) -> None:
    with pytest.raises(InvalidRequestError):
        set_time_zone(merchant, name, now=NOON)
    merchant.refresh_from_db()
    assert merchant.time_zone == "UTC"


def test_a_zone_that_this_machine_does_not_know_is_utc() -> None:
    assert zone_of(Merchant(time_zone="Europe/Atlantis")) is UTC
    assert zone_of(Merchant(time_zone="../secret")) is UTC
    assert zone_of(Merchant()) is UTC
    assert "UTC" in zone_names()
