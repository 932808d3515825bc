"""Queries of checkouts for the API: one by id, a page, a count."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, Final

from django.conf import settings
from django.db import connection, connections
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.fields.json import KT
from django.utils.module_loading import import_string

from accounts.brand.facts import with_brand
from accounts.states import Mode
from checkouts.amounts import price_of
from checkouts.inputs import AGAIN
from checkouts.lifecycle.escrow import releases_of
from checkouts.models import AmountReservation, BuyerReport, Checkout, InboxItem, Payment
from checkouts.models.checkouts import UNKEYED_REFERENCE
from checkouts.options import offers_exact_amount, takes_money, try_before
from checkouts.payloads import checkout_payload, remaining_units
from checkouts.pricing import value_of
from checkouts.rows import COLUMNS, AnyCheckout, CheckoutRow, credited_transfers, transfers_of
from checkouts.states import CheckoutException, CheckoutStatus, InboxReason, InboxStatus, RescueVerdict
from gateway.core.api.errors import InvalidRequestError, NotFoundError
from gateway.core.api.pagination import Page, parse_page, parse_text, parse_time
from gateway.core.money import to_units
from gateway.core.postgres.replica import read_alias
from wallets.states import TransferState

# The greatest bigint.
_GREATEST: Final = 2**63 - 1
# How many tries are followed each way. A buyer may begin again any number of times, and waited for each try to expire.
_MOST_TRIES: Final = 20
_BY_ID = f"SELECT {COLUMNS} FROM checkouts_checkout c WHERE c.public_id = %s AND c.merchant_id = %s AND c.mode = %s"  # noqa: S608 - our own column list
_BY_IDS = (
    f"SELECT {COLUMNS} FROM checkouts_checkout c "  # noqa: S608 - our own column list
    "WHERE c.public_id = ANY(%s::text[]) AND c.merchant_id = %s AND c.mode = %s"
)


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


def checkout_rows(merchant_id: int, mode: Mode, public_ids: Sequence[str]) -> list[CheckoutRow]:
    """Return a merchant's checkouts of a mode by their ids, in the order of the ids; unknown ones are left out."""
    with connection.cursor() as cursor:
        cursor.execute(_BY_IDS, [list(public_ids), merchant_id, mode])
        found = {row.public_id: row for row in map(CheckoutRow._make, cursor)}
    return [found[public_id] for public_id in public_ids if public_id in found]


def of_orders(merchant_id: int, mode: Mode, order_refs: Sequence[str]) -> QuerySet[Checkout]:
    """Return a merchant's checkouts of a mode that have one of these references, which are not empty."""
    mine = Checkout.objects.filter(merchant=merchant_id, mode=mode, order_ref__in=order_refs)
    # Each part by the index of its condition.
    keys = (
        mine.filter(creation_ref__in=order_refs)
        .values("pk")
        .union(mine.filter(UNKEYED_REFERENCE).values("pk"), all=True)
    )
    return Checkout.objects.filter(pk__in=[row["pk"] for row in keys])


def checkout_object(row: CheckoutRow) -> dict[str, Any]:
    """Return the API's object for a row."""
    return checkout_objects([row])[0]


def checkout_objects(rows: Sequence[CheckoutRow]) -> list[dict[str, Any]]:
    """Return the API's objects for rows."""
    transfers, releases = transfers_of(rows), releases_of(rows)
    return [
        checkout_payload(
            row,
            transfers.get(row.id, []),
            replaces=row.replaces,
            replaced_by=row.replaced_by,
            released_by=releases.get(row.id),
        )
        for row in rows
    ]


def reserved_amount(checkout: AnyCheckout, *, now: datetime) -> AmountReservation | None:
    """Return the exact amount reserved for a checkout's amount due, its merchant loaded; None until one is chosen.

    There is no query if no exact-amount chain is offered or no more money is taken.
    """
    if not takes_money(checkout, now=now) or not offers_exact_amount(checkout):
        return None
    price = price_of(remaining_units(checkout))
    held = AmountReservation.objects.filter(checkout_id=checkout.id, price=price)
    return with_brand(held.filter(released_at=None)).first()


def open_reports(merchant_id: int, mode: Mode) -> QuerySet[BuyerReport]:
    """Return open buyers' reports, newest first, their checkouts loaded.

    Reports about a transfer that now pays its checkout are left out, and about one that was on its way to a checkout that was
    paid since: on TON the hash that a buyer has then is none that its transfer is recorded under.
    """
    # One TON transaction may cause several transfers, each recorded under its own hash.
    came_right = Payment.objects.filter(
        Q(transfer__tx_hash=OuterRef("tx_hash")) | Q(transfer__tx_hash=OuterRef("part_hash")),
        checkout=OuterRef("checkout"),
    )
    reports = BuyerReport.objects.filter(merchant_id=merchant_id, mode=mode, closed_at=None).annotate(
        part_hash=KT("details__tx_hash")
    )
    reports = reports.filter(~Exists(came_right)).select_related("checkout")
    reports = reports.exclude(verdict=RescueVerdict.NOT_FINAL, checkout__status=CheckoutStatus.COMPLETED)
    return reports.order_by("-pk")


def has_late_money(checkout: Checkout) -> bool:
    """Whether an expired checkout has money in the inbox: renewing it would ask for the price twice."""
    if checkout.status != CheckoutStatus.EXPIRED:
        return False
    late = checkout.inbox_items.filter(reason__in=(InboxReason.LATE, InboxReason.LATE_OUTAGE), status=InboxStatus.OPEN)
    return late.exclude(transfer__state=TransferState.ORPHANED).exists()


def successor_code(checkout: Checkout) -> str:
    """Return the page code of the completed checkout that took an expired one's money; empty if there is none."""
    if checkout.status != CheckoutStatus.EXPIRED:
        return ""
    paid = Checkout.objects.filter(replaces=checkout, status=CheckoutStatus.COMPLETED)
    standing = paid.exclude(exception=CheckoutException.REVERSED)
    return standing.values_list("code", flat=True).first() or ""


def keeping_money(tries: QuerySet[Checkout]) -> Checkout | None:
    """Return the newest of tries at one price that expired and whose money is here: another try would ask the buyer for it twice.

    It came in time but was too little, it came late and waits for a person, or a successor took it. What was sent back as a whole
    is here no longer.
    """
    late = InboxItem.objects.filter(
        checkout=OuterRef("pk"), reason__in=(InboxReason.LATE, InboxReason.LATE_OUTAGE), status=InboxStatus.OPEN
    )
    came = Q(amount_received__gt=0) | Exists(late) | Q(replaced_by__status=CheckoutStatus.COMPLETED)
    found = tries.filter(came, status=CheckoutStatus.EXPIRED)
    return next((one for one in found.order_by("-pk") if _keeps_money(one)), None)


def keeping_money_before(checkout: Checkout) -> Checkout | None:
    """Return the newest of the tries that a checkout renews whose money is here; None if there is none."""
    earlier = [one.pk for one in islice(_follow(checkout, try_before), _MOST_TRIES)]
    return keeping_money(Checkout.objects.filter(pk__in=earlier)) if earlier else None


def _keeps_money(checkout: Checkout) -> bool:
    if has_late_money(checkout) or successor_code(checkout):
        return True
    transfers = credited_transfers([checkout.pk]).get(checkout.pk, [])
    # As in `amount_received`, what a reorg removed does not count.
    sent_back = value_of(checkout, (one.sent_back for one in transfers if one.state != TransferState.ORPHANED))
    return to_units(checkout.amount_received) > sent_back


def other_tries(checkout: Checkout) -> list[Checkout]:
    """Return the checkouts that this one renews, and those that renew it, as many each way as are followed."""
    return [*islice(_follow(checkout, try_before), _MOST_TRIES), *islice(_follow(checkout, _try_after), _MOST_TRIES)]


def paid_otherwise(expired: Sequence[Checkout]) -> set[int]:
    """Return the keys of those expired checkouts, of one merchant and mode, whose order another try paid or pays.

    Also one whose late money was accepted, and one before it.
    """
    if not expired:
        return set()
    found = _paid_by_renewal(expired)
    for path in settings.CHECKOUT_ATTEMPTS:
        by_attempt: Callable[[Sequence[Checkout]], set[int]] = import_string(path)
        found |= by_attempt(expired)
    return found


def _paid_by_renewal(expired: Sequence[Checkout]) -> set[int]:
    return _paid_along(expired, "creation_ref", _ref_of_renewal) | _paid_along(expired, "public_id", _id_before)


def _paid_along(expired: Sequence[Checkout], column: str, next_of: Callable[[Checkout], str]) -> set[int]:
    """Return the keys of those that a later try paid, or an earlier one: `next_of` names the next try by a `column`, or is empty."""
    accepted = Checkout.objects.filter(replaces=OuterRef("pk"), status=CheckoutStatus.COMPLETED)
    of_merchant = Checkout.objects.filter(merchant=expired[0].merchant_id, mode=expired[0].mode)
    rows: QuerySet[Any] = of_merchant.only("creation_ref", "public_id", "status", "exception").annotate(
        is_accepted=Exists(accepted.exclude(exception=CheckoutException.REVERSED))
    )
    found: set[int] = set()
    # The first ones, by what names the next try.
    firsts = {name: one.pk for one in expired if (name := next_of(one))}
    for _ in range(_MOST_TRIES):
        if not firsts:
            break
        tries = [(firsts[getattr(one, column)], one) for one in rows.filter(**{f"{column}__in": list(firsts)})]
        found |= {pk for pk, one in tries if one.is_accepted or _pays(one)}
        firsts = {name: pk for pk, one in tries if pk not in found and (name := next_of(one))}
    return found


def _ref_of_renewal(one: Checkout) -> str:
    return f"{AGAIN}{one.public_id}"


def _id_before(one: Checkout) -> str:
    name = one.creation_ref or ""
    return name.removeprefix(AGAIN) if name.startswith(AGAIN) else ""


def _pays(one: Checkout) -> bool:
    is_paid = one.status in (CheckoutStatus.PROCESSING, CheckoutStatus.COMPLETED)
    return is_paid and one.exception != CheckoutException.REVERSED


def _follow(checkout: Checkout, find_next: Callable[[Checkout], Checkout | None]) -> Iterator[Checkout]:
    found = find_next(checkout)
    while found is not None:
        yield found
        found = find_next(found)


def _try_after(checkout: Checkout) -> Checkout | None:
    if checkout.status != CheckoutStatus.EXPIRED:
        return None
    # A price that was converted is quoted anew: another amount in USD.
    same = {"amount": checkout.amount} if checkout.price is None else {"price": checkout.price}
    return Checkout.objects.filter(
        merchant=checkout.merchant_id,
        mode=checkout.mode,
        creation_ref=f"{AGAIN}{checkout.public_id}",
        currency=checkout.currency,
        **same,
    ).first()


@dataclass(frozen=True, slots=True)
class CheckoutFilter:
    """The merchant, mode and filters of a list of checkouts."""

    merchant_id: int
    mode: Mode
    status: CheckoutStatus | None
    created_after: datetime | None
    created_before: datetime | None
    # The references that are asked for, by name.
    references: Mapping[str, str]

    @property
    def is_counted(self) -> bool:
        """Return whether the stored counts give the list's total: no time and no reference narrows it."""
        times = (self.created_after, self.created_before)
        return times == (None, None) and not self.references


def parse_filter(merchant_id: int, mode: Mode, query: Mapping[str, str]) -> tuple[CheckoutFilter, Page]:
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
        references={name: text for name in _HAVING if (text := parse_text(query, name)) is not None},
    )
    return wanted, parse_page(query)


_MINE: Final = "merchant_id = %(merchant)s AND mode = %(mode)s"
# Up to here, skipping row by row is as fast.
_FEW: Final = 20_000
# Skips whole days: the oldest day that an offset passes over with all newer days. If no older day has a key among theirs,
# their least key is the mark, and the totals know how many checkouts come before it.
_MARK = """
    SELECT key, passed FROM (
        SELECT min(first_id) OVER newer AS key, sum(made) OVER newer AS passed,
               max(last_id) OVER (ORDER BY day ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS older
        FROM (
            SELECT day, sum(created) AS made, min(first_id) AS first_id, max(last_id) AS last_id FROM checkouts_dailytotal
            WHERE merchant_id = %s AND mode = %s AND chain = '' GROUP BY day
        ) days
        WINDOW newer AS (ORDER BY day DESC)
    ) marks
    WHERE passed <= %s AND key IS NOT NULL AND (older IS NULL OR older < key)
    ORDER BY passed DESC LIMIT 1
"""
# The inner query skips within an index; only the rows shown are read in full.
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
    elif offset >= _FEW and wanted.is_counted and wanted.status is None:
        parameters["before"], passed = _mark_before(wanted, offset)
        where += " AND id < %(before)s"
        offset -= passed
    statement = _PAGE.format(columns=COLUMNS, where=where)
    with connections[read_alias()].cursor() as cursor:
        cursor.execute(statement, parameters | {"limit": page.limit, "offset": offset})
        rows = [CheckoutRow._make(values) for values in cursor]
    return checkout_objects(rows)


def _mark_before(wanted: CheckoutFilter, offset: int) -> tuple[int, int]:
    """Return a key, and how many checkouts have it or a greater one: equal to the offset or slightly less."""
    with connections[read_alias()].cursor() as cursor:
        cursor.execute(_MARK, [wanted.merchant_id, wanted.mode, offset])
        key, passed = cursor.fetchone() or (_GREATEST, 0)
        return int(key), int(passed)


def checkout_total(wanted: CheckoutFilter) -> int:
    """Return the number of checkouts of a filter: from the stored counts, or counted where those do not suffice."""
    where, parameters = _where(wanted)
    statement = (
        f"SELECT COALESCE(sum(value), 0)::bigint FROM checkouts_checkoutcount WHERE {where}"  # noqa: S608 - our own conditions
        if wanted.is_counted
        else f"SELECT count(*) FROM checkouts_checkout WHERE {where}"  # noqa: S608
    )
    with connections[read_alias()].cursor() as cursor:
        cursor.execute(statement, parameters)
        return int(cursor.fetchone()[0])


# Each condition repeats that of its partial index. The keys of an order_ref are looked up first, in two indexes: otherwise the
# planner may walk the list until it has seen a page of them.
_HAVING: Final = {
    "order_ref": f"""id = ANY(ARRAY(
        SELECT id FROM checkouts_checkout
        WHERE {_MINE} AND creation_ref = %(order_ref)s AND order_ref = %(order_ref)s
        UNION ALL
        SELECT id FROM checkouts_checkout
        WHERE {_MINE} AND order_ref = %(order_ref)s AND order_ref > ''
          AND NOT (creation_ref = order_ref AND creation_ref IS NOT NULL)
    ))""",  # noqa: S608 - our own conditions
    "customer_ref": "customer_ref = %(customer_ref)s AND customer_ref > ''",
    "product_ref": "product_ref = %(product_ref)s AND product_ref > ''",
}


def _where(wanted: CheckoutFilter) -> tuple[str, dict[str, Any]]:
    conditions = [_MINE]
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
    conditions += [_HAVING[name] for name in wanted.references]
    parameters |= wanted.references
    return " AND ".join(conditions), parameters


def _key_of(wanted: CheckoutFilter, public_id: str) -> int:
    key = (
        Checkout.objects.filter(public_id=public_id, merchant_id=wanted.merchant_id, mode=wanted.mode)
        .values_list("pk", flat=True)
        .first()
    )
    if key is None:
        raise InvalidRequestError("starting_after names no checkout of yours.", param="starting_after")
    return key
