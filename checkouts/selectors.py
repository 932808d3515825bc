"""Reading checkouts for the API: one by id, a page of them, how many there are."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import connection

from accounts.states import Mode
from checkouts.exactamounts import CAPACITY, price_of
from checkouts.models import AmountReservation, Checkout
from checkouts.options import offers_exact_amount, takes_money
from checkouts.payloads import checkout_payload, remaining_units
from checkouts.rows import COLUMNS, CheckoutFacts, CheckoutRow, transfers_of
from checkouts.states import CheckoutStatus
from gateway.core.errors import InvalidRequestError, NotFoundError
from gateway.core.pagination import Page, parse_page, parse_time

_BY_ID = f"SELECT {COLUMNS} FROM checkouts_checkout c WHERE c.public_id = %s AND c.merchant_id = %s AND c.mode = %s"  # noqa: S608 - our own column list


def checkout_row(merchant_id: int, mode: Mode, public_id: str) -> CheckoutRow:
    """Return one checkout. Raises NotFoundError, also for another merchant's or the other mode's."""
    missing = NotFoundError(f"There is no checkout {public_id}.", param="checkout_id")
    if "\x00" in public_id:  # PostgreSQL would refuse the statement
        raise missing
    with connection.cursor() as cursor:
        cursor.execute(_BY_ID, [public_id, merchant_id, mode])
        values = cursor.fetchone()
    if values is None:
        raise missing
    return CheckoutRow._make(values)


def checkout_object(row: CheckoutRow) -> dict[str, Any]:
    """Return the API's object for a row."""
    transfers = transfers_of([row]).get(row.id, [])
    return checkout_payload(row, transfers, replaces=row.replaces)


def reserved_amount(
    checkout: CheckoutFacts, *, now: datetime
) -> AmountReservation | None:
    """Return the exact amount held for what a checkout has due now, its merchant loaded; None until one is chosen.

    Nothing is asked where no exact-amount chain is offered or no money is taken any more.
    """
    if not takes_money(checkout, now=now) or not offers_exact_amount(checkout):
        return None
    price = price_of(remaining_units(checkout))
    held = AmountReservation.objects.filter(checkout_id=checkout.id, price=price)
    return held.filter(released_at=None).select_related("merchant").first()


def amounts_left(merchant_id: int, mode: Mode, price: Decimal) -> int:
    """Return how many exact amounts of a price a merchant can still hand out at once."""
    held = AmountReservation.objects.filter(
        merchant_id=merchant_id, mode=mode, price=price, released_at=None
    )
    return CAPACITY - held.count()


@dataclass(frozen=True, slots=True)
class CheckoutFilter:
    """Which checkouts of a merchant and mode a list is about."""

    merchant_id: int
    mode: Mode
    status: CheckoutStatus | None
    created_after: datetime | None
    created_before: datetime | None

    @property
    def by_time(self) -> bool:
        """Whether a time narrows the list, so that the kept counts cannot answer its total."""
        return self.created_after is not None or self.created_before is not None


def parse_filter(
    merchant_id: int, mode: Mode, query: Mapping[str, str]
) -> tuple[CheckoutFilter, Page]:
    """Read a list's query string. Raises InvalidRequestError."""
    status = query.get("status") or None
    if status is not None and status not in CheckoutStatus.values:
        known = ", ".join(CheckoutStatus.values)
        raise InvalidRequestError(f"status must be one of {known}.", param="status")
    wanted = CheckoutFilter(
        merchant_id=merchant_id,
        mode=mode,
        status=CheckoutStatus(status) if status else None,
        created_after=parse_time(query, "created_after"),
        created_before=parse_time(query, "created_before"),
    )
    return wanted, parse_page(query)


# The inner query walks an index and skips there; only the rows shown are read whole.
_PAGE = """
    SELECT {columns} FROM checkouts_checkout c
    JOIN (
        SELECT id FROM checkouts_checkout WHERE {where}
        ORDER BY id DESC LIMIT %(limit)s OFFSET %(offset)s
    ) page ON page.id = c.id
    ORDER BY c.id DESC
"""


def checkout_page(wanted: CheckoutFilter, page: Page) -> list[dict[str, Any]]:
    """Return a page of checkouts, newest first. Raises InvalidRequestError for an unknown starting_after."""
    where, parameters = _where(wanted)
    offset = page.offset
    if page.starting_after is not None:
        where += " AND id < %(before)s"
        parameters["before"] = _key_of(wanted, page.starting_after)
        offset = 0
    statement = _PAGE.format(columns=COLUMNS, where=where)
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters | {"limit": page.limit, "offset": offset})
        rows = [CheckoutRow._make(values) for values in cursor]
    transfers = transfers_of(rows)
    return [
        checkout_payload(row, transfers.get(row.id, []), replaces=row.replaces)
        for row in rows
    ]


def checkout_total(wanted: CheckoutFilter) -> int:
    """Return how many checkouts a filter has: from the kept counts, or counted where a time narrows it."""
    where, parameters = _where(wanted)
    statement = (
        f"SELECT count(*) FROM checkouts_checkout WHERE {where}"  # noqa: S608 - our own conditions
        if wanted.by_time
        else f"SELECT COALESCE(sum(value), 0)::bigint FROM checkouts_checkoutcount WHERE {where}"  # noqa: S608
    )
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return int(cursor.fetchone()[0])


def _where(wanted: CheckoutFilter) -> tuple[str, dict[str, Any]]:
    conditions = ["merchant_id = %(merchant)s", "mode = %(mode)s"]
    parameters: dict[str, Any] = {"merchant": wanted.merchant_id, "mode": wanted.mode}
    if wanted.status is not None:
        conditions.append("status = %(status)s")
        parameters["status"] = wanted.status
    if wanted.created_after is not None:
        conditions.append("created_at > %(after)s")
        parameters["after"] = wanted.created_after
    if wanted.created_before is not None:
        conditions.append("created_at < %(until)s")
        parameters["until"] = wanted.created_before
    return " AND ".join(conditions), parameters


def _key_of(wanted: CheckoutFilter, public_id: str) -> int:
    key = (
        Checkout.objects.filter(
            public_id=public_id, merchant_id=wanted.merchant_id, mode=wanted.mode
        )
        .values_list("pk", flat=True)
        .first()
    )
    if key is None:
        raise InvalidRequestError(
            "starting_after names no checkout of yours.", param="starting_after"
        )
    return key
