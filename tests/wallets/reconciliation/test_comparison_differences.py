"""What two sources tell differently is written down once, and closed once they agree."""

from datetime import timedelta

import pytest

from tests.factories import NOON
from tests.wallets.factories import make_deposit, make_difference
from tests.wallets.transfers.test_service import new_transfer
from wallets.models import SourceDifference
from wallets.reconciliation.comparison import close_differences, close_known, key_of, note_differences, open_differences
from wallets.states import DifferenceKind

pytestmark = pytest.mark.django_db
MISSED, UNKNOWN = DifferenceKind.MISSED, DifferenceKind.UNKNOWN
LATER = NOON + timedelta(hours=1)


def test_a_difference_is_written_down_once_in_each_direction() -> None:
    transfer = new_transfer(make_deposit())
    for kind in (MISSED, MISSED, UNKNOWN):
        note_differences([transfer, transfer], kind=kind, source="node", now=NOON)
    found = SourceDifference.objects.order_by("pk")
    assert [row.kind for row in found] == [MISSED, UNKNOWN]
    row = found[0]
    assert (row.tx_hash, row.position, row.recipient, row.token) == key_of(transfer)
    assert (row.units, row.found_at) == (25_000_000, NOON)


def test_a_difference_that_was_closed_is_not_told_again() -> None:
    transfer = new_transfer(make_deposit())
    note_differences([transfer], kind=MISSED, source="node", now=NOON)
    assert close_differences([row.pk for row in open_differences()], now=NOON) == 1
    note_differences([transfer], kind=MISSED, source="node", now=LATER)
    assert open_differences() == []


def test_only_what_this_source_did_not_know_is_closed_once_it_does() -> None:
    deposit = make_deposit()
    late, lost = new_transfer(deposit), new_transfer(deposit)
    source = "node" * 40
    note_differences([late, lost], kind=UNKNOWN, source=source, now=NOON)
    note_differences([late], kind=MISSED, source=source, now=NOON)
    close_known("base", {key_of(late)}, source="other", now=LATER)
    assert len(open_differences()) == 3
    close_known("base", {key_of(late)}, source=source, now=LATER)
    told = {(row.tx_hash, row.kind) for row in open_differences()}
    assert told == {(lost.tx_hash, UNKNOWN), (late.tx_hash, MISSED)}


def test_closing_counts_what_was_open() -> None:
    found = make_difference()
    assert close_differences([found.pk, found.pk + 1], now=LATER) == 1
    assert close_differences([found.pk], now=LATER) == 0
    found.refresh_from_db()
    assert found.closed_at == LATER
