"""The connection that hears the bell is made again when it is lost."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from django.conf import settings
from django.db import connection

from checkouts.lifecycle.bells import ring_pages
from checkouts.states import CheckoutStatus
from tests.checkouts.factories import make_page_checkout, move
from tests.checkouts.page.streaming.servers import StreamServer
from tests.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


@pytest.mark.sessions
def test_lost_connections_to_postgresql_are_made_again_and_nothing_is_missed(streams: StreamServer) -> None:
    checkout = make_page_checkout()
    with streams.read(checkout.code) as reader:
        reader.await_statuses("pending")
        with no_connections(streams):
            # While nobody listens.
            move(checkout, CheckoutStatus.UNDERPAID)
            ring_pages([checkout.pk])
        reader.await_statuses("pending", "underpaid")
        move(checkout, CheckoutStatus.PENDING)
        ring_pages([checkout.pk])
        reader.await_statuses("pending", "underpaid", "pending")


@contextmanager
def no_connections(server: StreamServer) -> Iterator[None]:
    """End every connection of the stream server and refuse new ones for a while, as PostgreSQL does when it restarts."""
    before = complaints_of(server)
    database = connection.settings_dict["NAME"]
    # Nobody may shut the database that they are in.
    with psycopg.connect(settings.DATABASE_DIRECT_URL, autocommit=True) as elsewhere:
        elsewhere.execute(f"ALTER DATABASE {database} ALLOW_CONNECTIONS false")
        try:
            ended = elsewhere.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name = 'streams' AND datname = %s",
                [database],
            )
            assert len(ended.fetchall()) >= 2
            yield
            # Once for the connection that ended, once for one that was refused.
            wait_until(lambda: complaints_of(server) >= before + 2)
        finally:
            elsewhere.execute(f"ALTER DATABASE {database} ALLOW_CONNECTIONS true")


def complaints_of(server: StreamServer) -> int:
    """How often it said that it hears no bell."""
    return server.log.read_text().count("cannot hear the bell")
