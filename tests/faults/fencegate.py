"""The gate before the fence, at which a test holds a watcher up with all in hand that it is about to write."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import psycopg

from tests.faults.standby import has_read_since
from tests.florin import Florin
from tests.waiting import wait_until

GATE: Final = 7_041_990
"""The key of a PostgreSQL advisory lock: `tests.faults.gated_watcher` shares it in each of its transactions."""


@contextmanager
def held_at_the_fence(florin: Florin, watcher: str, pay: Callable[[], object]) -> Iterator[None]:
    """Pay, and hold a watcher up where it writes what a pass over each chain read: it has no more to ask of any node.

    A pass that began before the payment may have asked for the head already, and would leave the payment to the next one. So
    one pass over each chain is held up before the payment and let through after it.
    """
    begun_at = florin.database.now()
    # The first passes of a watcher write other things: what chain this is, and which accounts there are.
    wait_until(lambda: has_read_since(florin, begun_at))
    with psycopg.connect(florin.database.url, autocommit=True, application_name="gate") as gate:
        gate.execute("SELECT pg_advisory_lock(%s)", [GATE])
        wait_until(lambda: _waiting_at_the_gate(florin, watcher) == len(florin.chains))
        pay()
        # Those that wait go first, and whoever comes next waits again.
        gate.execute("SELECT pg_advisory_unlock(%s), pg_advisory_lock(%s)", [GATE, GATE])
        wait_until(lambda: _waiting_at_the_gate(florin, watcher) == len(florin.chains))
        yield


def _waiting_at_the_gate(florin: Florin, watcher: str) -> int:
    """How many of a watcher's threads wait at the gate."""
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s AND wait_event = 'advisory'"
    return int(florin.database.value(waiting, watcher))
