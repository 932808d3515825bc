"""Ways for the engines to go away."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from tests.florin import Florin
from tests.freezing import freeze


def kill_server(installation: Florin, name: str) -> None:
    """Kill PostgreSQL as a whole, as kill -9 does."""
    os.kill(installation.engines.pids["postgres"], signal.SIGKILL)


def kill_backend(installation: Florin, name: str) -> None:
    """Kill what works for one process that waits for a lock, upon which the server throws everybody out and recovers."""
    pid = installation.database.value(
        "SELECT pid FROM pg_stat_activity WHERE application_name = %s AND wait_event_type = 'Lock'", name
    )
    os.kill(pid, signal.SIGKILL)


def shut_down(installation: Florin, name: str) -> None:
    """Shut the server down as an operator does who does not wait for anybody."""
    os.kill(installation.engines.pids["postgres"], signal.SIGINT)


@contextmanager
def away(installation: Florin) -> Iterator[None]:
    """Valkey is stopped."""
    installation.valkey.stop()
    yield
    installation.valkey.start()


@contextmanager
def hanging(installation: Florin) -> Iterator[None]:
    """Valkey takes connections and says nothing."""
    pid = installation.valkey.pid
    freeze(pid)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)
