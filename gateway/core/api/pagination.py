"""Reads a list's query string, where an empty parameter counts as absent, and returns `{data, total, limit, offset}`."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from gateway.core.api.errors import InvalidRequestError
from gateway.core.api.fields import check_characters

DEFAULT_LIMIT = 20
MAX_LIMIT = 100
# No list is this deep: a larger offset is a mistake or an attack.
MAX_OFFSET = 2**31 - 1
FORMATS = ("json", "csv")


@dataclass(frozen=True, slots=True)
class Page:
    """The requested part of a list. `starting_after` pages by key instead of by offset."""

    limit: int
    offset: int
    starting_after: str | None
    include_total: bool


def parse_page(query: Mapping[str, str]) -> Page:
    """Read limit, offset, starting_after and include_total. Raises InvalidRequestError."""
    return Page(
        limit=_integer(query, "limit", default=DEFAULT_LIMIT, low=1, high=MAX_LIMIT),
        offset=_integer(query, "offset", default=0, low=0, high=MAX_OFFSET),
        starting_after=parse_text(query, "starting_after"),
        include_total=_flag(query, "include_total", default=True),
    )


def parse_text(query: Mapping[str, str], name: str) -> str | None:
    """Read a search text; None where it is absent or empty. Raises InvalidRequestError."""
    text = query.get(name) or None
    if text is not None:
        check_characters(text, name)
    return text


def parse_time(query: Mapping[str, str], name: str) -> datetime | None:
    """Read an ISO 8601 time; one without an offset is UTC. Raises InvalidRequestError."""
    text = parse_text(query, name)
    if text is None:
        return None
    try:
        # A plus sign in a query string arrives as a space unless the client encoded it.
        moment = datetime.fromisoformat(text.replace(" ", "+") if "T" in text else text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidRequestError(f"{name} must be an ISO 8601 time.", param=name) from error


def list_body(data: list[Any], page: Page, total: int | None) -> dict[str, Any]:
    """Return the list envelope; `total` is left out if the caller asked for that."""
    body: dict[str, Any] = {"data": data}
    if total is not None:
        body["total"] = total
    return body | {"limit": page.limit, "offset": page.offset}


def _integer(query: Mapping[str, str], name: str, *, default: int, low: int, high: int) -> int:
    text = query.get(name)
    if not text:
        return default
    digits = text if text.isascii() and text.isdigit() and len(text) <= 10 else ""
    if not digits or not low <= int(digits) <= high:
        raise InvalidRequestError(f"{name} must be a whole number from {low} to {high}.", param=name)
    return int(digits)


def _flag(query: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = query.get(name)
    if not text:
        return default
    if text not in {"true", "false"}:
        raise InvalidRequestError(f"{name} must be true or false.", param=name)
    return text == "true"


def parse_format(query: Mapping[str, str]) -> str:
    """Parse whether a list or a file is wanted. Raises InvalidRequestError."""
    wanted = parse_text(query, "format") or FORMATS[0]
    if wanted not in FORMATS:
        raise InvalidRequestError("format must be json or csv.", param="format")
    return wanted
