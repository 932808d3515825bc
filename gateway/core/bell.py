"""Bells: wake-up messages of PostgreSQL (NOTIFY), heard when the ringing transaction commits.

A lost one costs the listener one poll: whoever listens also looks by itself from time to time.
"""

import asyncio
from collections.abc import Callable, Sequence

import psycopg
import structlog
from django.conf import settings
from django.db import connection
from psycopg.conninfo import make_conninfo

log = structlog.get_logger(__name__)

_RETRY_SECONDS = 1.0
# A host that vanished is noticed within a minute.
_KEEPALIVES = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}


def ring(bell: str, notices: Sequence[str] = ("",)) -> None:
    """Ring in the caller's transaction: heard once it commits, and never if it rolls back.

    A notice holds less than 8,000 bytes. Equal notices of a transaction are heard once.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s::text, notice) FROM unnest(%s::text[]) AS n(notice)", [bell, list(notices)])


async def listen(bell: str, hear: Callable[[str], object], *, connected: Callable[[], object]) -> None:
    """Pass on each notice of a bell, and reconnect whenever the connection fails; until cancelled.

    `connected` is called whenever listening begins: notices before that were missed. Needs a connection of its own to the
    server itself, because a pooler's passes no notices on.
    """
    while True:
        try:
            await _listen_once(bell, hear, connected)
        except (psycopg.Error, OSError) as error:
            log.warning("cannot hear the bell", error=type(error).__name__)
        await asyncio.sleep(_RETRY_SECONDS)


async def _listen_once(bell: str, hear: Callable[[str], object], connected: Callable[[], object]) -> None:
    # The database name from Django's settings, which tests change.
    where = make_conninfo(
        settings.DATABASE_DIRECT_URL, dbname=connection.settings_dict["NAME"], connect_timeout=5, **_KEEPALIVES
    )
    async with await psycopg.AsyncConnection.connect(where, autocommit=True) as ear:
        await ear.execute(psycopg.sql.SQL("LISTEN {}").format(psycopg.sql.Identifier(bell)))
        connected()
        async for notice in ear.notifies():
            hear(notice.payload)
