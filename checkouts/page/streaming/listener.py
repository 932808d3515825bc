"""Listens for bells: one database connection for all pages of a process."""

import asyncio

import psycopg
import structlog
from django.conf import settings
from django.db import connection
from psycopg.conninfo import make_conninfo

from checkouts.lifecycle.bells import CHANNEL, rung_ids
from checkouts.page.streaming.hub import Hub

log = structlog.get_logger(__name__)

_RETRY_SECONDS = 1.0
# A host that vanished is noticed within a minute; meanwhile the sweep finds changes.
_KEEPALIVES = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}


async def listen(hub: Hub) -> None:
    """Pass every bell to the hub, and reconnect whenever the connection fails; until cancelled."""
    while True:
        try:
            await _listen_once(hub)
        except (psycopg.Error, OSError) as error:
            log.warning("cannot hear the bell", error=type(error).__name__)
        await asyncio.sleep(_RETRY_SECONDS)


async def _listen_once(hub: Hub) -> None:
    # The database name from Django's settings, which tests change.
    where = make_conninfo(
        settings.DATABASE_DIRECT_URL, dbname=connection.settings_dict["NAME"], connect_timeout=5, **_KEEPALIVES
    )
    async with await psycopg.AsyncConnection.connect(where, autocommit=True) as bell:
        await bell.execute(f"LISTEN {CHANNEL}")
        # Bells before now, or without a connection, were missed.
        hub.ring_all()
        async for notice in bell.notifies():
            hub.ring(rung_ids(notice.payload))
