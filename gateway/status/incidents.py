"""Finds what is late now, and records it as incidents."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction

from gateway.pages.metrics import oldest_waiting
from gateway.status.models import Incident, IncidentKind
from settlements.selectors import low_gas
from wallets.networks import watched_chains
from wallets.selectors import ChainHealth, chain_health
from wallets.states import ChainStatus, DownReason

LASTING: Final = timedelta(minutes=1)
"""Shorter troubles are no incidents: a queue of some seconds is usual."""
KEPT: Final = timedelta(days=90)

_QUEUES: Final = {
    "florin_transfer_queue_seconds": IncidentKind.CREDITS,
    "florin_delivery_queue_seconds": IncidentKind.WEBHOOKS,
}


@dataclass(frozen=True, slots=True)
class OngoingTrouble:
    """Something that is late now. `since` comes from the rows, so it is earlier than the moment it was noticed."""

    kind: IncidentKind
    chain: str
    since: datetime
    stopped: bool = False
    halted: bool = False


def note_incidents(*, now: datetime) -> int:
    """Open incidents for troubles that last, close those that are over; return how many are open."""
    found = [*find_troubles(chain_health(now=now), now=now), *_gas_troubles(now)]
    troubles = {(each.kind, each.chain): each for each in found}
    with transaction.atomic():
        Incident.objects.filter(ended_at__lt=now - KEPT).delete()
        still_open = Incident.objects.select_for_update().filter(ended_at=None)
        for incident in still_open.order_by("pk"):
            trouble = troubles.pop((IncidentKind(incident.kind), incident.chain), None)
            if trouble is None:
                incident.ended_at = now
            else:
                incident.stopped |= trouble.stopped
                incident.halted |= trouble.halted
            incident.save(update_fields=["ended_at", "stopped", "halted"])
        Incident.objects.bulk_create(
            [
                Incident(
                    kind=trouble.kind,
                    chain=trouble.chain,
                    stopped=trouble.stopped,
                    halted=trouble.halted,
                    began_at=trouble.since,
                )
                for trouble in troubles.values()
                if now - trouble.since >= LASTING
            ],
            ignore_conflicts=True,
        )
    return Incident.objects.filter(ended_at=None).count()


def find_troubles(chains: Sequence[ChainHealth], *, now: datetime) -> list[OngoingTrouble]:
    """Return everything that is late now, however short. A chain that was never read has had no incident yet."""
    found = []
    for health in chains:
        found += _chain_troubles(health)
    for queue, since in oldest_waiting(now=now).items():
        if queue in _QUEUES and since is not None and now - since >= LASTING:
            found.append(OngoingTrouble(_QUEUES[queue], "", since))
    return found


def _gas_troubles(now: datetime) -> list[OngoingTrouble]:
    """Return the chains on which no gas account can pay. The status page does not judge by them: other payments do not wait."""
    chains = [spec.name for spec in watched_chains()]
    return [OngoingTrouble(IncidentKind.GAS, one.chain, one.since or now) for one in low_gas(chains=chains)]


def _chain_troubles(health: ChainHealth) -> list[OngoingTrouble]:
    found = []
    if health.status != ChainStatus.OK and health.known_until is not None:
        stopped = health.status == ChainStatus.DOWN
        halted = health.reason == DownReason.HALTED
        found.append(OngoingTrouble(IncidentKind.CHAIN, health.chain, health.known_until, stopped, halted))
    if health.disagreeing_since is not None:
        found.append(OngoingTrouble(IncidentKind.SOURCES, health.chain, health.disagreeing_since))
    return found
