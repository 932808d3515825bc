"""Bells: heard when the ringing transaction commits; their loss costs one poll."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, transaction

from gateway.core import bell
from gateway.core.bell import ring
from tests.bells import ear, elsewhere
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)

BELL = "florin_test"


def test_a_ring_wakes_all_who_listen_and_brings_its_notices() -> None:
    with ear(BELL) as one, ear(BELL) as other:
        ring(BELL)
        ring(BELL, ["1,2", "3"])
        wait_until(lambda: one.heard == other.heard == ["", "1,2", "3"])


def test_it_is_heard_at_the_commit_once_and_never_of_what_rolls_back() -> None:
    with ear(BELL) as one:
        with transaction.atomic():
            ring(BELL, ["back"])
            transaction.set_rollback(True)
        with transaction.atomic():
            ring(BELL)
            elsewhere(f"NOTIFY {BELL}, 'meanwhile'")
            wait_until(lambda: one.heard == ["meanwhile"])
            ring(BELL)
        wait_until(lambda: one.heard == ["meanwhile", ""])
        ring(BELL, ["end"])
        wait_until(lambda: one.heard == ["meanwhile", "", "end"])


def test_another_bell_is_not_heard() -> None:
    with ear(BELL) as one:
        ring("florin_another")
        ring(BELL, ["end"])
        wait_until(lambda: one.heard == ["end"])


@pytest.mark.sessions
def test_whoever_lost_the_connection_listens_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bell, "_RETRY_SECONDS", 0.01)
    with ear(BELL) as one:
        elsewhere(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            f" WHERE query LIKE 'LISTEN%' AND datname = '{connection.settings_dict['NAME']}'"
        )
        wait_until(lambda: one.connections == 2)
        ring(BELL, ["again"])
        wait_until(lambda: one.heard == ["again"])


def test_a_server_that_is_away_is_asked_again_until_it_is_back(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bell, "_RETRY_SECONDS", 0.01)
    complaints: list[str] = []
    monkeypatch.setattr(bell.log, "warning", _noting(complaints))
    there, settings.DATABASE_DIRECT_URL = settings.DATABASE_DIRECT_URL, "postgresql:///none?host=/nowhere"
    with ear(BELL, waits=False) as one:
        wait_until(lambda: len(complaints) > 1)
        assert one.connections == 0
        settings.DATABASE_DIRECT_URL = there
        wait_until(lambda: one.connections == 1)
        ring(BELL)
        wait_until(lambda: one.heard == [""])


def _noting(complaints: list[str]) -> Callable[..., None]:
    return lambda event, **_: complaints.append(event)
