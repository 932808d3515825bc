"""`manage.py run_watchers` that waits at a gate before each check of the fence; called with "unfenced", without that check.

It runs without the database's limit on frozen transactions, which would end one that sleeps at the gate: the fence alone is tested.
"""

import os
import sys

import django

from tests.faults.fencegate import GATE

os.environ["PGOPTIONS"] = "-c idle_in_transaction_session_timeout=0"
django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402

from wallets import watcher_process  # noqa: E402
from wallets.models import ChainCursor  # noqa: E402
from wallets.watchers import leases  # noqa: E402

_check_fence = leases.check_fence


def _wait_and_check(lease: leases.Lease) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock_shared(%s)", [GATE])
    if "unfenced" in sys.argv:
        # As the fence does: else two watchers take their locks in different orders, and one is broken off.
        ChainCursor.objects.select_for_update().get(pk=lease.pk)
    else:
        _check_fence(lease)


def _look_for_nothing(*_spec: object, **_options: object) -> None:
    """Large amounts are none here, and who looks for them locks the cursor: frozen with that lock it would stop the next watcher."""


if __name__ == "__main__":
    watcher_process.audit_chain = _look_for_nothing  # type: ignore[attr-defined]
    leases.check_fence = _wait_and_check
    call_command("run_watchers")
