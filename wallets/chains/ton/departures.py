"""Outgoing transfers of an account: found by their traces, and reported by the recipient's receipts.

An index lists a transfer by the sender's jetton wallet; it ends when the recipient's wallet accepts or refuses it. So both
sides report the same transfer, by the recipient's transaction. A refused transfer bounces and does not count.
Strangers' jetton wallets are not listed for that: some receive thousands of transfers an hour.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from wallets.chains.ton.causes import Causes
from wallets.chains.ton.decode import Listed, Place, Receipt

MOST_TRACES: Final = 100
"""How many transfers to strangers a reading looks up; the others wait for the next reading."""


def first_of(rows: Sequence[Listed], *, most: int = MOST_TRACES) -> tuple[list[Listed], int | None]:
    """Return the oldest rows, complete for each second, and the time from which some are left out."""
    ordered = sorted(rows, key=lambda row: row.time)
    left = [row.time for row in ordered[most:] if row.time > ordered[0].time]
    if not left:
        return ordered, None
    return [row for row in ordered if row.time < left[0]], left[0]


def taken(listed: Iterable[Listed], receipts: Iterable[Receipt | None]) -> Iterator[tuple[Place, Listed, Receipt]]:
    """Pair receipts of any jetton wallets with the transfers that caused them.

    The index names the recipient's wallet's owner: the sender's wallet verified that.
    """
    causes = Causes(listed)
    for receipt in receipts:
        row = causes.of(receipt) if receipt is not None else None
        if receipt is not None and row is not None:
            yield (row.recipient, row.master), row, receipt
