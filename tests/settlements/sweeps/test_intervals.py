"""How often a merchant's forwarders are emptied without anybody asking."""

from decimal import Decimal

import pytest

from accounts.models import AuditEntry, Merchant
from gateway.core.api.errors import InvalidRequestError
from settlements.models import SettlementSettings
from settlements.sweeps.intervals import MOST_HOURS, set_intervals, settings_of
from tests.factories import NOON, make_merchant

pytestmark = pytest.mark.django_db


def ask(merchant: Merchant, minimum: str, hours: int) -> SettlementSettings:
    return set_intervals(merchant, minimum=Decimal(minimum), every_hours=hours, actor=None, now=NOON)


def test_what_was_said_holds_and_is_audited_once() -> None:
    merchant = make_merchant()
    for _ in range(2):
        ask(merchant, "250.00", 24)
    kept = settings_of(merchant)
    assert (kept.minimum, kept.every_hours) == (Decimal("250.00"), 24)
    told = AuditEntry.objects.filter(action="settlements.intervals_set")
    assert told.count() == 1


def test_where_nobody_said_anything_nothing_is_kept() -> None:
    merchant = make_merchant()
    assert settings_of(merchant)._state.adding
    assert not SettlementSettings.objects.exists()
    assert isinstance(settings_of(merchant).minimum, Decimal)


@pytest.mark.parametrize(
    ("minimum", "hours", "param"),
    [
        ("1", -1, "every_hours"),
        ("1", MOST_HOURS + 1, "every_hours"),
        ("-1", 1, "minimum"),
        ("1000000.01", 1, "minimum"),
        ("0.001", 1, "minimum"),
    ],
)
def test_what_cannot_be_kept_is_refused(minimum: str, hours: int, param: str) -> None:
    merchant = make_merchant()
    with pytest.raises(InvalidRequestError) as caught:
        ask(merchant, minimum, hours)
    assert caught.value.param == param
    assert not SettlementSettings.objects.exists()
