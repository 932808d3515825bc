"""The days of transfers and movements: kept by triggers, the same as the raw rows to the last unit, and mended when not."""

from datetime import date, timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from checkouts.tasks import check_totals_task
from gateway.core import daily_totals
from tests.checkouts.watcher import Watcher
from tests.factories import NOON, make_checkout, make_transfer
from tests.totals import differences, rebuild
from tests.wallets.days import History, kept_sums, make_movement, make_watched, raw_sums
from wallets.models import Transfer, TransferClaim, TransferDay, WatchedDay
from wallets.states import ClaimKind, TransferState

pytestmark = pytest.mark.django_db

TODAY = NOON.date()


def days() -> dict[tuple[str, str], tuple[int, int]]:
    """What is kept of transfers, by state and claim; what is nothing left out."""
    return {key[5:]: sums for key, sums in kept_sums()[0].items()}


@pytest.mark.parametrize("seed", range(4))
def test_whatever_happens_the_days_are_what_the_rows_add_up_to(seed: int) -> None:
    history = History(seed)
    for _ in range(60):
        history.go_on()
        assert differences() == []
    assert kept_sums() == raw_sums()
    assert Transfer.objects.filter(state=TransferState.ORPHANED).exists()
    assert TransferClaim.objects.exists()


def test_a_transfer_moves_from_state_to_state_and_to_what_it_was_used_for() -> None:
    transfer = make_transfer(make_checkout(), 7)
    assert days() == {("detected", ""): (1, 7)}
    Transfer.objects.update(state=TransferState.CONFIRMED, confirmed_at=NOON)
    TransferClaim.objects.create(transfer=transfer, kind=ClaimKind.X402, claimed_at=NOON)
    assert days() == {("confirmed", "x402"): (1, 7)}
    Transfer.objects.update(state=TransferState.ORPHANED)
    assert days() == {("orphaned", "x402"): (1, 7)}


def test_mined_again_with_another_amount_on_another_day_it_counts_there() -> None:
    watcher = Watcher()
    seen = watcher.sees(make_checkout(), 7)
    watcher.loses(seen)
    watcher.finds_again(seen, units=9, block_time=NOON + timedelta(days=1))
    [(key, sums)] = kept_sums()[0].items()
    assert (key[2], sums) == (TODAY + timedelta(days=1), (1, 9))


def test_amounts_that_change_places_are_seen_although_their_sum_stays() -> None:
    used, _ = (make_transfer(make_checkout(), units) for units in (5, 7))
    TransferClaim.objects.create(transfer=used, kind=ClaimKind.CHECKOUT, claimed_at=NOON)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE wallets_transfer SET units = 12 - units")
    assert sorted(days().values()) == [(1, 5), (1, 7)]
    assert differences() == []


def test_a_change_of_the_queue_adds_nothing() -> None:
    make_transfer(make_checkout())
    before = TransferDay.objects.count()
    Transfer.objects.update(queued_at=None, decided_at=NOON)
    assert TransferDay.objects.count() == before


def test_putting_rows_together_changes_no_sum() -> None:
    checkout, wallet = make_checkout(), make_watched()
    for _ in range(3):
        make_transfer(checkout, 7)
        make_movement(wallet, 7)
        daily_totals.fold_all()
        make_transfer(checkout, 7)
        make_movement(wallet, 7)
    before = kept_sums()
    assert daily_totals.fold_all() == 2
    assert daily_totals.fold_all() == 0
    assert TransferDay.objects.get(is_sum=True).count == 6
    assert WatchedDay.objects.get(is_sum=True).count == 6
    assert kept_sums() == before == raw_sums()


@pytest.mark.parametrize("table", ["wallets_transferday", "wallets_watchedday"])
def test_one_unit_too_much_is_reported_at_night_whatever_its_day_and_mended(table: str) -> None:
    long_ago = NOON - timedelta(days=400)
    make_transfer(make_checkout(), block_time=long_ago)
    make_movement(make_watched(), block_time=long_ago)
    assert check_totals_task() == 0
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE {table} SET units = units + 1")
    [found] = differences()
    assert (found.table.name, found.off) == (table, {"count": 0, "units": 1})
    assert check_totals_task() == 1
    rebuild(since=TODAY, until=date.max)
    assert check_totals_task() == 1
    rebuild()
    assert check_totals_task() == 0
    assert kept_sums() == raw_sums()


def test_a_change_that_the_triggers_did_not_see_is_reported() -> None:
    make_transfer(make_checkout(), 7)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute("UPDATE wallets_transfer SET units = 6")
        cursor.execute("SET LOCAL session_replication_role = DEFAULT")
    [found] = differences()
    assert found.off == {"count": 0, "units": 1}


def test_the_command_tells_of_transfers_too_and_repairs(capsys: pytest.CaptureFixture[str]) -> None:
    transfer = make_transfer(make_checkout(), block_time=NOON - timedelta(days=400))
    TransferDay.objects.update(count=3)
    with pytest.raises(CommandError, match="1 totals"):
        call_command("check_totals")
    told = capsys.readouterr().out
    assert f"merchant_id={transfer.merchant_id} mode=live day=2025-10-16" in told
    assert "kept less raw count +2 units +0" in told
    call_command("check_totals", since=TODAY, until=TODAY)
    call_command("check_totals", repair=True)
    call_command("check_totals")
    assert "All totals agree with their rows." in capsys.readouterr().out


def test_comparing_is_one_statement_for_each_kind_of_day() -> None:
    with CaptureQueriesContext(connection) as queries:
        differences()
    assert len(queries) == len(daily_totals.nightly_days(TODAY))
