"""Reports in the API's and the files' format."""

from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any, Final

from gateway.core.money import format_units, format_usd
from gateway.core.times import iso, iso_or_none
from reports.entries import ReportRow
from reports.inputs import ReportFilter
from reports.summaries import Summary, Sums

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
    "wallet_id",
)


def transaction_payload(row: ReportRow) -> dict[str, Any]:
    """Return a line of `GET /reports/transactions`."""
    return {
        "id": row.id,
        "direction": row.direction,
        "chain": row.chain,
        "token": row.token,
        "amount": format_units(row.units),
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
        "wallet_id": row.wallet,
    }


def csv_cells(rows: Iterable[ReportRow]) -> Iterator[tuple[object, ...]]:
    """Return the lines of a file; amounts are numbers there."""
    for row in rows:
        yield (
            row.id,
            row.direction,
            iso(row.block_time),
            row.chain,
            row.token,
            Decimal(format_units(row.units)),
            row.tx_hash,
            row.position,
            row.sender,
            row.recipient,
            row.state,
            iso_or_none(row.confirmed_at),
            row.checkout,
            row.order_ref,
            row.wallet,
        )


def summary_payload(wanted: ReportFilter, summary: Summary) -> dict[str, Any]:
    """Return `GET /reports/summary`."""
    total = summary.total
    return {
        "from": iso_or_none(wanted.since),
        "to": iso_or_none(wanted.until),
        "livemode": wanted.mode == "live",
        **_flows(total),
        "fees": format_usd(summary.fees),
        "counts": {
            "in": total.came,
            "out": total.left,
            "unconfirmed": total.waiting,
            "credited": total.credited,
            "uncredited": total.uncredited,
        },
        "balances": [
            {"chain": one.chain, "token": one.token, "amount": format_units(one.units)}
            for one in summary.balances
        ],
        "by_chain": [
            {"chain": chain, "token": token} | _part(sums)
            for (chain, token), sums in summary.by_token.items()
        ],
        "by_day": [
            {"day": day.isoformat()} | _part(sums)
            for day, sums in summary.by_day.items()
        ],
        "by_tag": [{"tag": tag} | _part(sums) for tag, sums in summary.by_tag.items()],
    }


def _part(sums: Sums) -> dict[str, Any]:
    return _flows(sums) | {"count": sums.count}


def _flows(sums: Sums) -> dict[str, str]:
    return {
        "inflow": format_units(sums.inflow),
        "outflow": format_units(sums.outflow),
        "net": format_units(sums.net),
        "unconfirmed": format_units(sums.unconfirmed),
    }
