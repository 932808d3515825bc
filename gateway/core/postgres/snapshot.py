"""Several reads of the database as it was at one moment."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from django.db import connections, transaction

from gateway.core.postgres.replica import read_alias

_ONE: Final = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"


@contextmanager
def snapshot() -> Iterator[None]:
    """Let all reads in the block see the same rows, on the replica where that is read. They can write nothing.

    Within a transaction that has begun already, as tests have one, that one's rules apply.
    """
    connection = connections[read_alias()]
    if connection.in_atomic_block:
        yield
        return
    with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
        cursor.execute(_ONE)
        yield
