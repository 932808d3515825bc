"""An ear at a bell: hears it as the product does, in a thread with an event loop of its own."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psycopg
from django.conf import settings
from django.db import connection
from psycopg.conninfo import make_conninfo

from gateway.core import bell
from tests.waiting import wait_until


class Ear:
    """What was heard of a bell, and how often listening began."""

    def __init__(self, name: str) -> None:
        self.heard: list[str] = []
        self.connections = 0
        self._name = name
        self._thread = threading.Thread(target=lambda: asyncio.run(self._listen()))
        self._thread.start()

    async def _listen(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._listening = asyncio.create_task(bell.listen(self._name, self.heard.append, connected=self._connected))
        with suppress(asyncio.CancelledError):
            await self._listening

    def _connected(self) -> None:
        self.connections += 1

    def stop(self) -> None:
        """Stop listening, whether or not it began."""
        wait_until(lambda: hasattr(self, "_listening"))
        self._loop.call_soon_threadsafe(self._listening.cancel)
        self._thread.join()


@contextmanager
def ear(name: str, *, waits: bool = True) -> Iterator[Ear]:
    """Hear a bell; the block begins once the ear listens, unless it shall not wait for that."""
    one = Ear(name)
    try:
        if waits:
            wait_until(lambda: one.connections == 1)
        yield one
    finally:
        one.stop()


def elsewhere(statement: str) -> None:
    """Run a statement, and commit it, on a connection of its own."""
    where = make_conninfo(settings.DATABASE_DIRECT_URL, dbname=connection.settings_dict["NAME"])
    with psycopg.connect(where, autocommit=True) as other:
        other.execute(statement.encode())
