"""Which chains have forwarders to empty, and making sure that one process at a time looks after each."""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

from wallets.chains.registry import ChainSpec
from wallets.chains.specs import Family
from wallets.networks import watched_chains


def forwarder_chains() -> list[ChainSpec]:
    """Return the chains that have forwarders and nodes of ours."""
    return [spec for spec in watched_chains() if spec.family is Family.EVM]


def solana_chains() -> list[ChainSpec]:
    """Return the chains of Solana's kind that have nodes of ours."""
    return [spec for spec in watched_chains() if spec.family is Family.SOLANA]


@contextmanager
def alone(work: str) -> Iterator[bool]:
    """Say whether this process has a piece of work to itself; the lock is the session's, so a crash gives it back.

    Doing it twice would be no harm, only double the questions to nodes.
    """
    key = zlib.crc32(f"settlements:{work}".encode())
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [key])
        [is_ours] = cursor.fetchone()
    try:
        yield bool(is_ours)
    finally:
        if is_ours:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [key])
