"""Times in the API's format: ISO 8601, UTC, `Z`."""

from datetime import UTC, datetime


def iso(moment: datetime) -> str:
    """Write an aware datetime as `2026-11-20T05:30:00.123456Z`."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def iso_or_none(moment: datetime | None) -> str | None:
    """Write a time, or return None."""
    return None if moment is None else iso(moment)
