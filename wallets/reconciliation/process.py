"""The reconciliation process of a chain, which runs beside its watcher and never blocks it.

It confirms large amounts, compares sources, reads missed payments again, and reads watched wallets' balances and history.
"""

import threading
from collections.abc import Callable

import structlog
from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connection
from django.utils import timezone

from wallets.chains.base import ChainError
from wallets.chains.specs import ChainSpec
from wallets.reconciliation.confirmation import LargeAmounts
from wallets.reconciliation.missed import MissedTransfers
from wallets.reconciliation.passes import Reconciler
from wallets.watched.passes import WatchedWallets
from wallets.watchers.leases import LeaseLostError

log = structlog.get_logger(__name__)

BEAT_SECONDS = 1.0


def audit_chain(spec: ChainSpec, *, owner: str, stop: threading.Event) -> None:
    """Run until `stop` is set, in the process of the watcher `owner` and under its lease. Survives any error."""
    large = LargeAmounts(spec, owner=owner)
    every = settings.RECONCILE_SECONDS
    reconciler = Reconciler(spec, owner=owner, every=every)
    missed = MissedTransfers(spec, owner=owner)
    watched = WatchedWallets(spec, owner=owner)
    try:
        while not stop.wait(BEAT_SECONDS):
            _beat(spec, large.tick, reconciler.tick, missed.tick, watched.tick)
    finally:
        for looker in (large, reconciler, missed, watched):
            looker.close()
        connection.close()


def _beat(spec: ChainSpec, *looks: Callable[..., object]) -> None:
    for look in looks:
        try:
            look(now=timezone.now())
        except LeaseLostError:
            continue
        except ChainError as error:
            log.warning("no second look", chain=spec.name, error=str(error))
        except DatabaseError as error:
            # The server may have restarted: the next heartbeat opens another connection.
            connection.close()
            log.warning("database failed", chain=spec.name, error=type(error).__name__)
        except Exception:
            log.exception("second look failed", chain=spec.name)
            connection.close()
