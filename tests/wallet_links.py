"""The rows of wallet apps whose source was read long ago, for `script/check`: it warns of them, and no test does.

Vendors change their links without a word: read the source again, try the link on a phone, and write the new day into the row.
"""

import sys
from collections.abc import Iterable
from datetime import date
from typing import Final

from wallets.chains.wallet_apps import APPS, WalletApp

MOST_MONTHS: Final = 12


def old_apps(apps: Iterable[WalletApp], today: date) -> list[WalletApp]:
    """Return the rows that were read more than `MOST_MONTHS` months before a day."""
    return [app for app in apps if _months(app.read_on, today) >= MOST_MONTHS]


def _months(start: date, end: date) -> int:
    """Return the whole months between two days."""
    return 12 * (end.year - start.year) + end.month - start.month - (end.day <= start.day)


def main(today: date) -> None:
    """Print a warning for each old row of the product."""
    for app in old_apps(APPS, today):
        sys.stdout.write(
            f"!!! Read again, and write the day: the link into {app.name}, read on {app.read_on}: {app.source}\n"
        )


if __name__ == "__main__":
    main(date.today())  # noqa: DTZ011 - a day of a calendar, not a moment
