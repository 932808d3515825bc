"""Promises to send a transfer's money back: reserved when a refund is asked for, returned while the chain has paid it.

A row of `TransferReturn` counts both, in base units of the transfer's token. Its constraint refuses more than the transfer
brought (invariant 14), so callers need no lock for that.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from django.db import IntegrityError, connection, transaction

from wallets.models import TransferReturn

_WITHIN: Final = "transfer_return_within_units"


class NothingLeftError(Exception):
    """A transfer brought less than would be promised back."""


@dataclass(frozen=True, slots=True)
class Return:
    """What of a transfer is promised back, and what of that was sent back, in base units."""

    reserved: int = 0
    returned: int = 0


@dataclass(frozen=True, slots=True)
class ReturnChange:
    """How much more of a transfer is reserved and returned, in base units; less, if negative."""

    transfer_id: int
    reserved: int = 0
    returned: int = 0


# The rows are locked in the order of transfers, whoever asks: so no two wait for each other.
_RESERVE: Final = """
    INSERT INTO wallets_transferreturn AS r (transfer_id, units, reserved, returned)
    SELECT t.id, t.units, a.units, 0
    FROM unnest(%(ids)b::bigint[], %(units)s::numeric[]) AS a (id, units) JOIN wallets_transfer t ON t.id = a.id
    ORDER BY t.id
    ON CONFLICT (transfer_id) DO UPDATE SET reserved = r.reserved + EXCLUDED.reserved, units = EXCLUDED.units
"""

_CHANGE: Final = """
    WITH held AS (
        SELECT transfer_id FROM wallets_transferreturn
        WHERE transfer_id = ANY(%(ids)b::bigint[]) ORDER BY transfer_id FOR NO KEY UPDATE
    )
    UPDATE wallets_transferreturn AS r SET reserved = r.reserved + a.reserved, returned = r.returned + a.returned
    FROM held JOIN unnest(%(ids)b::bigint[], %(reserved)s::numeric[], %(returned)s::numeric[]) AS a (id, reserved, returned)
        ON a.id = held.transfer_id
    WHERE r.transfer_id = held.transfer_id
"""


def reserve_returns(units: Mapping[int, int]) -> None:
    """Promise base units of transfers back, by the transfers' keys, in the caller's transaction.

    Raises NothingLeftError, with nothing reserved, if one of them brought less than is promised then.
    """
    columns: dict[str, Any] = {"ids": list(units), "units": [Decimal(value) for value in units.values()]}
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(_RESERVE, columns)
    except IntegrityError as error:
        if _WITHIN not in str(error):
            raise
        raise NothingLeftError from error


def change_returns(changes: Sequence[ReturnChange]) -> None:
    """Change what is reserved and returned, in the caller's transaction; each transfer is named once, and reserved before.

    Raises IntegrityError for more than was reserved, or less than nothing.
    """
    if not changes:
        return
    columns: dict[str, Any] = {
        "ids": [change.transfer_id for change in changes],
        "reserved": [Decimal(change.reserved) for change in changes],
        "returned": [Decimal(change.returned) for change in changes],
    }
    with connection.cursor() as cursor:
        cursor.execute(_CHANGE, columns)


def returns_of(transfer_ids: Collection[int]) -> dict[int, Return]:
    """Return what is promised and sent back, by transfer; those of which nothing ever was are left out."""
    rows = TransferReturn.objects.filter(transfer__in=transfer_ids)
    return {row.pk: Return(int(row.reserved), int(row.returned)) for row in rows}
