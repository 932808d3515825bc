"""Calendar months, in UTC or in a merchant's time zone."""

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, date, datetime, tzinfo
from typing import Final

from gateway.core.times import midnight

_MONTH: Final = re.compile(r"([0-9]{4})-(0[1-9]|1[0-2])", re.ASCII)
_LAST_MONTH: Final = 12


@dataclass(frozen=True, slots=True, order=True)
class Month:
    """A calendar month."""

    year: int
    number: int

    def __str__(self) -> str:
        return f"{self.year:04}-{self.number:02}"

    @property
    def begins(self) -> datetime:
        """Return its first moment in UTC."""
        return self.begins_in(UTC)

    @property
    def ends(self) -> datetime:
        """Return the first moment after it in UTC."""
        return self.ends_in(UTC)

    @property
    def days(self) -> int:
        """Return how many days it has."""
        return monthrange(self.year, self.number)[1]

    def begins_in(self, zone: tzinfo) -> datetime:
        """Return its first moment in a time zone, as a time of UTC."""
        return midnight(date(self.year, self.number, 1), zone)

    def ends_in(self, zone: tzinfo) -> datetime:
        """Return the first moment after it in a time zone, as a time of UTC."""
        return self.plus(1).begins_in(zone)

    def plus(self, months: int) -> "Month":
        """Return the month so many months later; negative for earlier."""
        years, index = divmod(self.number - 1 + months, _LAST_MONTH)
        return Month(self.year + years, index + 1)


def month_of(moment: datetime, zone: tzinfo = UTC) -> Month:
    """Return the month of a moment in a time zone."""
    moment = moment.astimezone(zone)
    return Month(moment.year, moment.month)


def parse_month(text: str) -> Month | None:
    """Parse `2026-10`; None for anything else."""
    match = _MONTH.fullmatch(text)
    return Month(int(match[1]), int(match[2])) if match else None


def months_until(newest: Month, first: Month, *, most: int) -> list[Month]:
    """Return the months from `newest` back to `first`, at most so many, the newest first."""
    some = [newest.plus(-number) for number in range(most)]
    return [month for month in some if month >= first]
