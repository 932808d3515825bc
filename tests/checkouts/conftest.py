"""Fixtures that tests of several folders share."""

from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import Any

import psycopg
import pytest
from django.conf import settings as django_settings
from django.db import connection
from django.utils import timezone
from psycopg.conninfo import make_conninfo

from accounts.models import Merchant
from checkouts.lifecycle.bells import CHANNEL
from tests.checkouts.factories import make_chains_well
from tests.checkouts.questions import prepare
from tests.factories import make_merchant, make_wallet
from tests.waiting import PATIENCE_SECONDS


@pytest.fixture
def chains_are_well(settings: Any, db: None) -> None:
    """Every chain has a node and a watcher that is well."""
    make_chains_well(settings)


@pytest.fixture
def dead_nodes(settings: Any) -> None:
    """Counters of the test's own, and nodes that answer nothing."""
    prepare(settings)


@pytest.fixture
def still_window(time_machine: Any) -> None:
    """Hold the clock, so that no test straddles two windows of a minute."""
    time_machine.move_to(timezone.now().replace(second=30), tick=False)


@pytest.fixture
def retry_shop() -> Merchant:
    """A merchant with a wallet on Base, whose buyers may start again."""
    merchant = make_merchant(buyers_may_retry=True)
    make_wallet(merchant)
    return merchant


@pytest.fixture
def hear(transactional_db: None) -> Iterator[Callable[[Callable[[], None]], list[str]]]:
    """Run something, and return the notices that a connection of its own heard of it."""
    where = make_conninfo(django_settings.DATABASE_DIRECT_URL, dbname=connection.settings_dict["NAME"])
    with psycopg.connect(where, autocommit=True) as ear:
        ear.execute(f"LISTEN {CHANNEL}")

        def heard(act: Callable[[], None]) -> list[str]:
            act()
            # Notices come in the order of their transactions.
            with connection.cursor() as cursor:
                cursor.execute(f"NOTIFY {CHANNEL}, 'end'")
            heard = ear.notifies(timeout=PATIENCE_SECONDS)
            payloads = (notice.payload for notice in heard)
            return list(takewhile(lambda payload: payload != "end", payloads))

        yield heard
