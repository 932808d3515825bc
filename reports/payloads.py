"""Reports as the API and files show them."""

from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any, Final

from gateway.core.money import format_token, from_units
from gateway.core.times import iso, iso_or_none
from reports.inputs import ReportFilter
from reports.selectors import ID_PREFIX, ReportRow
from reports.summaries import Summary, Sums
from wallets.states import Direction

CSV_HEADER: Final = (
    "id",
    "direction",
    "block_time",
    "chain",
    "token",
    "amount",
    "tx_hash",
    "position",
    "sender_address",
    "recipient_address",
    "status",
    "confirmed_at",
    "checkout_id",
    "order_ref",
)
# No wallet is watched yet that money could leave.
_NO_OUTFLOW: Final = 0


def transaction_payload(row: ReportRow) -> dict[str, Any]:
    """Return a line of `GET /reports/transactions`."""
    return {
        "id": f"{ID_PREFIX}{row.id}",
        "direction": Direction.IN.value,
        "chain": row.chain,
        "token": row.token,
        "amount": _amount(int(row.units)),
        "tx_hash": row.tx_hash,
        "position": row.position,
        "sender_address": row.sender,
        "recipient_address": row.recipient,
        "status": row.state,
        "block_time": iso(row.block_time),
        "detected_at": iso(row.detected_at),
        "confirmed_at": iso_or_none(row.confirmed_at),
        "checkout_id": row.checkout,
        "order_ref": row.order_ref or None,
    }


def csv_cells(rows: Iterable[ReportRow]) -> Iterator[tuple[object, ...]]:
    """Return the lines of a file; amounts are numbers there."""
    for row in rows:
        yield (
            f"{ID_PREFIX}{row.id}",
            Direction.IN.value,
            iso(row.block_time),
            row.chain,
            row.token,
            Decimal(_amount(int(row.units))),
            row.tx_hash,
            row.position,
            row.sender,
            row.recipient,
            row.state,
            iso_or_none(row.confirmed_at),
            row.checkout,
            row.order_ref,
        )


def summary_payload(wanted: ReportFilter, summary: Summary) -> dict[str, Any]:
    """Return `GET /reports/summary`."""
    total = summary.total
    return {
        "from": iso_or_none(wanted.since),
        "to": iso_or_none(wanted.until),
        "livemode": wanted.mode == "live",
        **_flows(total),
        "counts": {
            "in": total.count,
            "out": 0,
            "unconfirmed": total.waiting,
            "credited": total.credited,
            "uncredited": total.uncredited,
        },
        "by_chain": [
            {"chain": chain, "token": token} | _flows(sums) | {"count": sums.count}
            for (chain, token), sums in summary.by_token.items()
        ],
        "by_day": [
            {"day": day.isoformat()} | _flows(sums) | {"count": sums.count}
            for day, sums in summary.by_day.items()
        ],
        # Only watched wallets will have tags.
        "by_tag": [],
    }


def _flows(sums: Sums) -> dict[str, str]:
    return {
        "inflow": _amount(sums.inflow),
        "outflow": _amount(_NO_OUTFLOW),
        "net": _amount(sums.inflow - _NO_OUTFLOW),
        "unconfirmed": _amount(sums.unconfirmed),
    }


def _amount(units: int) -> str:
    return format_token(from_units(units))
