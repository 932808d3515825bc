"""Leases by name: of many processes one has a piece of work to itself."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial

import pytest
from django.db import connection

from gateway.core.leases import EPOCH, Lease, LeaseLostError, alone, leases
from tests.concurrency.races import SECONDS, crew, holding, wait_for_waiters

pytestmark = [pytest.mark.concurrency, pytest.mark.django_db(transaction=True)]


def takers(count: int = 8) -> list[Callable[[], Lease | None]]:
    """So many processes that want the same work."""
    return [partial(leases.take, "work", f"{number}", seconds=60) for number in range(count)]


def together() -> int:
    """How many of them have it, who all ask at once."""
    with crew() as threads:
        return sum(row is not None for row in threads.together(*takers()))


def test_of_many_who_ask_at_once_one_has_the_lease() -> None:
    for _ in range(3):
        assert together() == 1
        Lease.objects.update(lease_until=EPOCH)


def test_without_the_condition_all_would_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: the same statement that does not look at who has it."""
    careless = leases._take.replace("lease_until < clock_timestamp()", "true")
    assert careless != leases._take
    Lease.objects.create(name="work")
    monkeypatch.setattr(leases, "_take", careless)
    assert together() == 8


def test_a_lease_begins_once_its_row_is_no_longer_waited_for() -> None:
    Lease.objects.create(name="work")
    with crew() as threads:
        with holding("SELECT FROM gateway_lease FOR UPDATE"):
            taking = threads.start(partial(leases.take, "work", "a", seconds=60))
            wait_for_waiters(1)
            with connection.cursor() as cursor:
                cursor.execute("SELECT clock_timestamp()")
                [waited_until] = cursor.fetchone()
        row = taking.result(SECONDS)
    assert row
    assert row.lease_until >= waited_until + timedelta(seconds=60)


def test_whoever_is_alone_keeps_others_out_until_the_end_of_the_block() -> None:
    with alone("work", seconds=60) as is_mine:
        assert is_mine
        with alone("work", seconds=60) as is_mine_too:
            assert not is_mine_too
        assert leases.take("other work", "b", seconds=60)
    with alone("work", seconds=60) as is_mine:
        assert is_mine


def test_work_that_fails_is_given_back() -> None:
    with pytest.raises(ZeroDivisionError), alone("work", seconds=60):
        raise ZeroDivisionError
    assert leases.take("work", "next", seconds=60)


def test_whoever_died_keeps_others_out_no_longer_than_it_asked_for() -> None:
    assert leases.take("work", "dead", seconds=0)
    assert leases.take("work", "next", seconds=60)


def test_a_lease_may_be_given_back_for_later() -> None:
    assert leases.take("work", "a", seconds=60)
    leases.release("work", "a", seconds=60)
    assert leases.take("work", "a", seconds=60) is None
    assert leases.find("work", "a") is None


def test_whoever_lost_it_is_told_before_it_writes() -> None:
    mine = leases.take("work", "a", seconds=0)
    assert mine
    leases.check(mine)
    theirs = leases.take("work", "b", seconds=60)
    assert theirs
    assert theirs.fence == mine.fence + 1
    with pytest.raises(LeaseLostError):
        leases.check(mine)
    leases.release("work", "a")
    leases.check(theirs)
    assert leases.find("work", "b") == theirs
