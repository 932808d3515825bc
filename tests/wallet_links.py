"""The rows of wallet apps and of wallets behind a relay whose source was read long ago: `script/check` warns of them, no test does.

Vendors change their links without a word: read the source again, try the link on a phone, and write the new day into the row.
"""

import sys
from collections.abc import Iterable
from datetime import date
from typing import Final

from wallets.chains.ton.relay import RELAYED, RelayedWallet
from wallets.chains.wallet_apps import APPS, WalletApp

MOST_MONTHS: Final = 12
ROWS: Final = (*APPS, *RELAYED)


def old_rows(rows: Iterable[WalletApp | RelayedWallet], today: date) -> list[WalletApp | RelayedWallet]:
    """Return the rows that were read more than `MOST_MONTHS` months before a day."""
    return [row for row in rows if _months(row.read_on, today) >= MOST_MONTHS]


def _months(start: date, end: date) -> int:
    """Return the whole months between two days."""
    return 12 * (end.year - start.year) + end.month - start.month - (end.day <= start.day)


def main(today: date) -> None:
    """Print a warning for each old row of the product."""
    for row in old_rows(ROWS, today):
        what = f"the bridge {row.bridge} and the link of" if isinstance(row, RelayedWallet) else "the link into"
        sys.stdout.write(f"!!! Read again, and write the day: {what} {row.name}, read on {row.read_on}: {row.source}\n")


if __name__ == "__main__":
    main(date.today())  # noqa: DTZ011 - a day of a calendar, not a moment
