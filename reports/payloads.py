"""Reports in the API's and the files' format."""

from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any, Final

from gateway.core.money import format_token, format_units, format_usd
from gateway.core.times import iso, iso_or_none
from reports.entries import ReportRow
from reports.inputs import ReportFilter
from reports.summaries import Summary, Sums
from wallets.networks import chain_spec, decimals_of, is_accepted

CSV_HEADER: Final = """
    id direction block_time chain token amount tx_hash position sender_address recipient_address status confirmed_at
    checkout_id order_ref wallet_id kind x402_payment_id resource fee usd_value explorer_url
""".split()

_NUMBERS: Final = ("amount", "fee", "usd_value")


def transaction_payload(row: ReportRow) -> dict[str, Any]:
    """Return a line of `GET /reports/transactions`."""
    return {
        "id": row.id,
        "direction": row.direction,
        "chain": row.chain,
        "token": row.token,
        "amount": _amount(row),
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
        "kind": row.kind,
        "x402_payment_id": row.machine,
        "resource": row.resource or None,
        "fee": None if row.fee is None else format_token(row.fee),
        "usd_value": _usd_value(row),
        "explorer_url": _explorer_url(row),
    }


def _amount(row: ReportRow) -> str:
    return format_units(row.units, decimals_of(row.chain, row.token))


def _usd_value(row: ReportRow) -> str | None:
    """Return the value of an accepted token, each of which is one USD; others may be worth anything."""
    return _amount(row) if is_accepted(row.chain, row.token) else None


def _explorer_url(row: ReportRow) -> str | None:
    return chain_spec(row.chain).transaction_url(row.tx_hash) if row.is_live else None


def csv_cells(rows: Iterable[ReportRow]) -> Iterator[tuple[object, ...]]:
    """Return the lines of a file; amounts are numbers there."""
    for row in rows:
        line = transaction_payload(row)
        numbers = {name: line[name] and Decimal(line[name]) for name in _NUMBERS}
        yield tuple((line | numbers)[name] for name in CSV_HEADER)


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
            {"chain": one.chain, "token": one.token, "amount": format_units(one.units)} for one in summary.balances
        ],
        "by_chain": [
            {"chain": chain, "token": token} | _part(sums) for (chain, token), sums in summary.by_token.items()
        ],
        "by_day": [{"day": day.isoformat()} | _part(sums) for day, sums in summary.by_day.items()],
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
