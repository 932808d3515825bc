"""The time of a trigger grows with a statement's rows, not with their square.

A connection keeps the plan that it made for a trigger's first, small statement. If that plan compares each old row with each
new one, 10,000 rows in one statement take more than ten seconds (measured: 13 s instead of 2 for reading a range).
"""

import re
from collections.abc import Iterator
from typing import Final

import pytest
from django.db import connection

from tests.checkouts.schema import alter
from tests.factories import NOON, make_checkout, make_transfer
from tests.invariants.twins import outflow
from tests.wallets.days import make_movement, make_watched
from wallets.models import DepositOutflow, Transfer, WatchedMovement
from wallets.states import TransferState

pytestmark = pytest.mark.django_db
EXPLAINED: Final = """
    SET LOCAL client_min_messages = notice;
    SET LOCAL auto_explain.log_level = notice;
    SET LOCAL auto_explain.log_nested_statements = on;
    SET LOCAL auto_explain.log_min_duration = 0
"""
EACH_WITH_EACH: Final = re.compile(r"Join Filter: .*(a\.id = b\.id|b\.id = a\.id)")


@pytest.fixture
def plans() -> Iterator[list[str]]:
    """Collect the plans of all statements, those inside of triggers included."""
    told: list[str] = []

    def keep(notice: object) -> None:
        told.append(str(getattr(notice, "message_primary", "")))

    with connection.cursor() as cursor:
        cursor.execute("LOAD 'auto_explain'")
        cursor.execute(EXPLAINED)
    driver = connection.connection
    driver.add_notice_handler(keep)
    yield told
    driver.remove_notice_handler(keep)


def comparing(plans: list[str]) -> list[str]:
    """Return the plans that compare each old row with each new one."""
    assert any("Named Tuplestore Scan" in plan for plan in plans)
    return [plan for plan in plans if EACH_WITH_EACH.search(plan)]


def test_transfers_that_become_final_are_added_up_in_bulk(plans: list[str]) -> None:
    make_transfer(make_checkout())
    Transfer.objects.update(state=TransferState.CONFIRMED, confirmed_at=NOON)
    assert not comparing(plans)


def test_outflows_that_become_final_are_added_up_in_bulk(plans: list[str]) -> None:
    outflow()
    DepositOutflow.objects.update(state=TransferState.ORPHANED)
    assert not comparing(plans)


def test_movements_of_watched_wallets_are_added_up_in_bulk(plans: list[str]) -> None:
    make_movement(make_watched(), state=TransferState.DETECTED)
    WatchedMovement.objects.update(state=TransferState.CONFIRMED)
    assert not comparing(plans)


def test_only_its_setting_keeps_a_trigger_from_comparing_all_rows(plans: list[str]) -> None:
    """What the tests above would find if the setting were lost."""
    alter("ALTER FUNCTION transfer_days_changed() RESET enable_nestloop")
    make_transfer(make_checkout())
    Transfer.objects.update(state=TransferState.CONFIRMED, confirmed_at=NOON)
    assert comparing(plans)
