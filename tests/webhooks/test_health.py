"""When a delivery is tried again."""

from datetime import timedelta

import pytest

from tests.factories import NOON
from webhooks.health import DELAYS, MAX_TRIES, AttemptResult, Health, next_try_at, parse_retry_after


def wait(tries: int, *, spread: float = 0.0, **options: object) -> timedelta:
    moment = next_try_at(tries, now=NOON, spread=spread, **options)  # type: ignore[arg-type]
    assert moment is not None
    return moment - NOON


def test_there_are_twelve_tries_over_about_76_hours() -> None:
    assert MAX_TRIES == 12
    assert DELAYS[:5] == (0, 5, 30, 120, 600)
    assert timedelta(seconds=sum(DELAYS)) == timedelta(hours=75, minutes=42, seconds=35)


@pytest.mark.parametrize("tries", range(1, MAX_TRIES))
def test_each_wait_is_the_schedules_give_or_take_a_fifth(tries: int) -> None:
    step = timedelta(seconds=DELAYS[tries])
    assert wait(tries) == step
    assert wait(tries, spread=-1) == step * 0.8
    assert wait(tries, spread=1) == step * 1.2


def test_after_the_twelfth_failure_there_is_no_other_try() -> None:
    assert next_try_at(MAX_TRIES, now=NOON, spread=0) is None


def test_a_longer_retry_after_is_honoured_and_a_shorter_one_is_not() -> None:
    assert wait(1, retry_after=timedelta(minutes=7)) == timedelta(minutes=7)
    assert wait(4, retry_after=timedelta(minutes=7)) == timedelta(minutes=10)


def test_retry_after_is_honoured_up_to_a_day() -> None:
    assert wait(1, retry_after=timedelta(days=40)) == timedelta(hours=24)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("120", timedelta(minutes=2)),
        (" 120 ", timedelta(minutes=2)),
        ("Fri, 20 Nov 2026 12:10:00 GMT", timedelta(minutes=10)),
        ("Fri, 20 Nov 2026 11:00:00 GMT", timedelta()),
        ("9" * 400, timedelta(hours=24)),
    ],
)
def test_retry_after_is_seconds_or_a_date(text: str, expected: timedelta) -> None:
    assert parse_retry_after(text, now=NOON) == expected


@pytest.mark.parametrize("text", [None, "", "soon", "-5", "1.5", "٣", "Fri, 99 Nov"])
def test_a_retry_after_that_cannot_be_read_counts_as_none(text: str | None) -> None:
    assert parse_retry_after(text, now=NOON) is None


@pytest.mark.parametrize("status", [200, 201, 204, 299])
def test_2xx_is_success(status: int) -> None:
    assert AttemptResult(status).succeeded


@pytest.mark.parametrize("status", [None, 100, 199, 300, 301, 307, 404, 410, 500])
def test_anything_else_is_failure_redirects_included(status: int | None) -> None:
    assert not AttemptResult(status, error="" if status else "timeout").succeeded


def test_only_410_means_gone() -> None:
    assert AttemptResult(410).gone
    assert not AttemptResult(404).gone


pytestmark = pytest.mark.django_db


def test_five_failures_begin_probation_and_one_success_ends_it() -> None:
    health = Health()
    for _ in range(4):
        health = health.after(AttemptResult(500), at=NOON)
    assert not health.on_probation
    health = health.after(AttemptResult(None, error="timeout"), at=NOON)
    assert health.on_probation
    assert not health.after(AttemptResult(200), at=NOON).on_probation
