"""What left an account: the same receipts that its recipients have, found by way of the traces they are in.

An index lists a transfer by what the sender's jetton wallet did; it is over once the recipient's took it or refused it. So
what leaves is told in the same words as what arrives, by the recipient's transaction, whichever side is read; and what the
recipient's refused, and gave back (a bounce), never left. Strangers' jetton wallets are not listed for that: some take
thousands of transfers an hour.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from wallets.chains.ton.causes import Causes
from wallets.chains.ton.decode import Listed, Place, Receipt

MOST_TRACES: Final = 100
"""How many transfers of a reading are looked up that went to strangers; the others wait for the next reading."""


def first_of(
    rows: Sequence[Listed], *, most: int = MOST_TRACES
) -> tuple[list[Listed], int | None]:
    """Return the oldest rows, all of each second, and the time from which on some are left out."""
    ordered = sorted(rows, key=lambda row: row.time)
    left = [row.time for row in ordered[most:] if row.time > ordered[0].time]
    if not left:
        return ordered, None
    return [row for row in ordered if row.time < left[0]], left[0]


def taken(
    listed: Iterable[Listed], receipts: Iterable[Receipt | None]
) -> Iterator[tuple[Place, Listed, Receipt]]:
    """Pair receipts of any jetton wallets with the transfers that caused them.

    The index says whose wallet a transfer went to: its sender's made sure of that.
    """
    causes = Causes(listed)
    for receipt in receipts:
        row = causes.of(receipt) if receipt is not None else None
        if receipt is not None and row is not None:
            yield (row.recipient, row.master), row, receipt
