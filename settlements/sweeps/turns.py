"""The chains with forwarders to empty, and the lease of their upkeep."""

from contextlib import AbstractContextManager

from django.conf import settings

from gateway.core import leases
from wallets.chains.specs import ChainSpec
from wallets.networks import watched_chains


def forwarder_chains() -> list[ChainSpec]:
    """Return the chains with forwarders and nodes."""
    return [spec for spec in watched_chains() if spec.family.has_forwarders]


def fee_chains() -> list[ChainSpec]:
    """Return the chains with nodes but without forwarders on which we pay network fees for machines."""
    return [spec for spec in watched_chains() if spec.gas is not None and not spec.family.has_forwarders]


def alone(work: str) -> AbstractContextManager[bool]:
    """Yield whether this process got the work's lease, for the longest time of a task.

    Doing it twice would only double the requests to nodes.
    """
    return leases.alone(f"settlements:{work}", seconds=settings.CELERY_TASK_TIME_LIMIT)
