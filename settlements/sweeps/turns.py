"""Which chains have forwarders to empty, and making sure that one process at a time looks after each."""

from contextlib import AbstractContextManager

from django.conf import settings

from gateway.core import leases
from wallets.chains.specs import ChainSpec
from wallets.networks import watched_chains


def forwarder_chains() -> list[ChainSpec]:
    """Return the chains that have forwarders and nodes of ours."""
    return [spec for spec in watched_chains() if spec.family.has_forwarders]


def fee_chains() -> list[ChainSpec]:
    """Return the chains without forwarders that have nodes of ours, and on which we pay the network for machines."""
    return [
        spec
        for spec in watched_chains()
        if spec.gas is not None and not spec.family.has_forwarders
    ]


def alone(work: str) -> AbstractContextManager[bool]:
    """Say whether this process has a piece of work to itself, for as long as a task may take.

    Doing it twice would be no harm, only double the questions to nodes.
    """
    return leases.alone(f"settlements:{work}", seconds=settings.CELERY_TASK_TIME_LIMIT)
