"""The files: stable columns, lines that say what they are, nothing that a spreadsheet runs, and what other programs read."""

import csv
import io
import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

import pytest

from accounts.models import Merchant
from accounts.states import Mode
from gateway.core.exports import csv_pieces
from reports.accountant.files import CSV_FILES, DATEV_FIELDS, DatevBooks, datev_pieces
from reports.accountant.lines import Line, month_lines
from reports.accountant.places import month_filter
from reports.months import Month
from settlements.gas.fees import COIN
from settlements.states import SettlementStatus
from tests.accounts.fee_entries import charged
from tests.checkouts.watcher import pay
from tests.dashboard.machines import make_gas_transaction, make_settlement, of_transfer
from tests.factories import NOON, make_merchant
from tests.payouts.factories import make_paid, make_payout, outflow_for, refund_of
from tests.rates.playing import make_quoted
from tests.reports.takings import days_later, earn, receive
from tests.wallets.days import make_movement, make_watched
from tests.x402.euros import take_euros
from wallets.states import ClaimKind, TransferState, WatchPurpose

pytestmark = pytest.mark.django_db

BERLIN: Final = ZoneInfo("Europe/Berlin")
NOVEMBER: Final = Month(2026, 11)
PUBLISHED: Final[dict[str, dict[str, Any]]] = json.loads(Path(__file__).with_name("columns.json").read_text())


def lines_of(merchant: Merchant, month: Month = NOVEMBER) -> list[Line]:
    """The lines of a month in Berlin."""
    return list(month_lines(month_filter(merchant.pk, Mode.LIVE, month.begins_in(BERLIN), month.ends_in(BERLIN))))


def read(found: Iterable[Line], kind: str = "accountant") -> list[dict[str, str]]:
    """A file of lines, as Python's csv reads it."""
    header, cells = CSV_FILES[kind]
    return list(csv.DictReader(io.StringIO("".join(csv_pieces(header, cells(found, BERLIN), for_people=False)))))


def test_columns_are_those_that_are_published() -> None:
    assert list(CSV_FILES["accountant"][0]) == PUBLISHED["florin"]["columns"]
    assert list(CSV_FILES["xero"][0]) == PUBLISHED["xero"]["columns"]
    assert list(CSV_FILES["quickbooks"][0]) == PUBLISHED["quickbooks"]["columns"]
    assert list(DATEV_FIELDS) == PUBLISHED["datev"]["columns"]
    assert len(DATEV_FIELDS) == 125


def test_a_payment_says_all_that_an_accountant_asks(merchant: Merchant) -> None:
    paid = earn(merchant, 25_003_700, order_ref="HR-1")
    checkout = paid.payment.checkout
    checkout.description, checkout.customer_ref = "Coffee beans", "C-7"
    checkout.save(update_fields=["description", "customer_ref"])
    charged(merchant, subject_id=checkout.public_id)
    [row] = read(lines_of(merchant))
    assert row == {
        "id": paid.public_id,
        "date": "2026-11-20",
        "time": "13:01:00",
        "time_utc": "2026-11-20T12:01:00.000000Z",
        "kind": "payment",
        "order_ref": "HR-1",
        "description": "Coffee beans",
        "customer": "C-7",
        "checkout_id": checkout.public_id,
        "subject_id": "",
        "chain": "base",
        "token": "USDC",
        "gross": "25.003700",
        "refund": "",
        "sent": "",
        "net": "25.003700",
        "usd_value": "25.003700",
        "fee": "0.375056",
        "net_usd": "24.628644",
        "network_fee": "",
        "network_fee_coin": "",
        "tx_hash": paid.tx_hash,
        "explorer_url": f"https://basescan.org/tx/{paid.tx_hash}",
        "counterparty": paid.sender,
        "price": "",
        "price_currency": "",
    }


def test_a_price_that_was_converted_is_named_beside_its_dollars(merchant: Merchant) -> None:
    pay(make_quoted(merchant, price=Decimal(1200), currency="JPY"), 25_030_000)
    [row] = read(lines_of(merchant))
    assert (row["usd_value"], row["price"], row["price_currency"]) == ("25.030000", "1200", "JPY")


def test_a_refund_is_a_line_of_the_month_in_which_it_was_sent(merchant: Merchant) -> None:
    checkout = make_paid(merchant)
    refund = refund_of(
        checkout,
        5_000_000,
        address="0x976EA74026E726554dB657fA54763abd0C3a0aa9",
        chain="base",
        token="USDC",
        reason="Broken cup",
    ).payout
    sent = outflow_for(refund, block_time=NOON + timedelta(days=20))
    refund.movement = sent
    refund.save(update_fields=["movement"])
    [row] = read(lines_of(merchant, Month(2026, 12)))
    assert (row["kind"], row["refund"], row["net"], row["usd_value"]) == (
        "refund",
        "5.000000",
        "-5.000000",
        "-5.000000",
    )
    assert (row["subject_id"], row["description"], row["checkout_id"]) == (
        refund.public_id,
        "Broken cup",
        checkout.public_id,
    )
    assert (row["gross"], row["counterparty"]) == ("", refund.address)
    assert [line["kind"] for line in read(lines_of(merchant))] == ["payment"]


def test_a_reversed_payment_is_taken_off_in_the_month_in_which_that_happened(merchant: Merchant) -> None:
    gone = datetime(2026, 11, 30, 23, 30, tzinfo=UTC)
    lost = earn(merchant, state=TransferState.ORPHANED, orphaned_at=gone)
    charged(merchant, "25.00", subject_id=lost.payment.checkout.public_id, voided_at=gone)
    [booked] = read(lines_of(merchant))
    # In Berlin it is December already.
    fee, reversal = sorted(read(lines_of(merchant, Month(2026, 12))), key=lambda row: row["kind"])
    assert (booked["kind"], booked["net"], booked["fee"]) == ("payment", "25.000000", "0.375000")
    assert (reversal["kind"], reversal["gross"], reversal["net"]) == ("payment_reversed", "-25.000000", "-25.000000")
    assert (reversal["date"], reversal["id"]) == ("2026-12-01", f"{lost.public_id}:reversed")
    assert (fee["kind"], fee["net"], fee["fee"], fee["net_usd"]) == ("fee", "0.000000", "-0.375000", "0.375000")


def test_a_payout_that_two_watched_wallets_tell_of_is_taken_back_once(merchant: Merchant) -> None:
    gone = datetime(2026, 12, 2, tzinfo=UTC)
    same: dict[str, Any] = {"tx_hash": f"0x{'17' * 32}", "state": TransferState.ORPHANED, "orphaned_at": gone}
    payout = make_payout(merchant)
    # First its recipient was read for it; since then the paying wallet is watched, too.
    payout.movement = make_movement(make_watched(merchant, purpose=WatchPurpose.PAYOUT), direction="in", **same)
    payout.save(update_fields=["movement"])
    make_movement(make_watched(merchant), direction="out", counterparty=payout.address, **same)
    [sent] = read(lines_of(merchant))
    assert (sent["kind"], sent["sent"]) == ("payout", "5.000000")
    [back] = read(lines_of(merchant, Month(2026, 12)))
    assert (back["kind"], back["sent"]) == ("payout_reversed", "-5.000000")


def test_what_was_never_final_is_no_line(merchant: Merchant) -> None:
    receive(merchant, state=TransferState.ORPHANED, confirmed_at=None, orphaned_at=NOON)
    receive(merchant, state=TransferState.DETECTED, confirmed_at=None)
    assert lines_of(merchant) == []


def test_each_kind_of_money_has_its_name(merchant: Merchant) -> None:
    machine = of_transfer(receive(merchant, **days_later(1)))
    receive(merchant, **days_later(2))
    receive(merchant, 10**18, token="DAI", **days_later(3))
    make_movement(make_watched(merchant), **days_later(4))
    make_movement(make_watched(merchant), direction="out", **days_later(5))
    settled = make_settlement(merchant, transaction=make_gas_transaction(now=NOON), settled_at=NOON + timedelta(days=6))
    rows = {row["kind"]: row for row in read(lines_of(merchant))}
    assert list(rows) == ["machine_payment", "uncredited", "other_token", "wallet_in", "wallet_out", "settlement"]
    assert (rows["machine_payment"]["subject_id"], rows["machine_payment"]["description"]) == (
        machine.public_id,
        machine.resource,
    )
    other = rows["other_token"]
    assert (other["gross"], other["usd_value"], other["net_usd"]) == ("1.000000000000000000", "", "")
    assert rows["wallet_out"]["sent"] == "5.000000"
    assert rows["settlement"]["subject_id"] == settled.public_id
    assert (rows["settlement"]["net"], rows["settlement"]["network_fee_coin"]) == ("0.000000", "ETH")
    assert Decimal(rows["settlement"]["network_fee"]) == Decimal(210000000000000) / COIN


def test_settlements_of_one_merchant_that_share_a_transaction_have_its_cost_once(merchant: Merchant) -> None:
    made, at = make_gas_transaction(now=NOON), NOON + timedelta(days=6)
    make_settlement(merchant, transaction=made, status=SettlementStatus.FAILED)
    for purpose in (ClaimKind.CHECKOUT, ClaimKind.X402):
        make_settlement(merchant, transaction=made, purpose=purpose, settled_at=at)
    rows = read(lines_of(merchant))
    assert [(row["network_fee"] != "", row["network_fee_coin"]) for row in rows] == [(True, "ETH"), (False, "")]
    make_settlement(make_merchant("Another"), transaction=made, settled_at=at)
    assert {row["network_fee"] for row in read(lines_of(merchant))} == {""}, "it is not this merchant's alone"


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "\t", "＝"])
def test_no_cell_is_a_program(merchant: Merchant, begin: str) -> None:
    hostile = f"{begin}HYPERLINK(1)"
    paid = earn(merchant, order_ref=hostile)
    checkout = paid.payment.checkout
    checkout.description, checkout.customer_ref = hostile, hostile
    checkout.save(update_fields=["description", "customer_ref"])
    [row] = read(lines_of(merchant))
    assert {row["order_ref"], row["description"], row["customer"]} == {f"'{hostile}"}
    [bank] = read(lines_of(merchant), "xero")
    assert (bank["Payee"], bank["Reference"]) == (f"'{hostile}", f"'{hostile}")
    assert bank["Description"].startswith("Payment ")
    for cell in datev_rows(merchant)[2]:
        assert cell[:1] not in {"=", "+", "-", "@", "\t"}


def test_banks_columns_show_cents_that_add_up(merchant: Merchant) -> None:
    for number in range(3):
        earn(merchant, 1_003_700, order_ref=f"HR-{number}", **days_later(number))
    rows = read(lines_of(merchant), "xero")
    assert [row["*Amount"] for row in rows] == ["1.00", "1.01", "1.00"]
    assert rows[0]["*Date"] == "2026-11-20"
    assert rows[0]["Description"] == "Payment HR-0 (1.003700 USDC on Base)"
    first = read(lines_of(merchant), "quickbooks")[0]
    assert (first["Date"], first["Amount"]) == ("11/20/2026", "1.00")


def datev_rows(merchant: Merchant, books: DatevBooks | None = None) -> list[list[str]]:
    """DATEV's file, decoded and split as DATEV does."""
    pieces = datev_pieces(lines_of(merchant), BERLIN, NOVEMBER, books or DatevBooks(), now=NOON)
    text = b"".join(pieces).decode("cp1252")
    assert text.endswith("\r\n")
    return list(csv.reader(io.StringIO(text), delimiter=";"))


def test_datev_takes_every_text_whatever_an_order_is_called(merchant: Merchant) -> None:
    named = earn(merchant, order_ref="订单").payment.checkout
    named.description = ";=1" * 30
    named.save(update_fields=["description"])
    [_, columns, booking] = datev_rows(merchant)
    row = dict(zip(columns, booking, strict=True))
    assert row["Belegfeld 1"] == lines_of(merchant)[0].id.replace("_", "")
    assert len(row["Buchungstext"]) == 60


def test_datev_reads_a_header_columns_and_bookings(merchant: Merchant) -> None:
    earn(merchant, 25_003_700, order_ref="Bestellung #1 für „Müller“ → Ж")
    make_movement(make_watched(merchant), 5_500_000, direction="out", **days_later(1))
    header, columns, came, left = datev_rows(merchant, DatevBooks(29098, 55003, "18100", "14600"))
    assert header[:5] == ["EXTF", "700", "21", "Buchungsstapel", "13"]
    assert header[10:16] == ["29098", "55003", "20260101", "5", "20261101", "20261130"]
    assert len(header) == PUBLISHED["datev"]["header_fields"]
    # An entry in another currency than the header's (field 22) would need a rate.
    assert [header[21], *(dict(zip(columns, row, strict=True))["WKZ Umsatz"] for row in (came, left))] == ["USD"] * 3
    assert columns == PUBLISHED["datev"]["columns"]
    first, second = (dict(zip(columns, row, strict=True)) for row in (came, left))
    assert (first["Umsatz (ohne Soll/Haben-Kz)"], first["Soll/Haben-Kennzeichen"], first["WKZ Umsatz"]) == (
        "25,00",
        "S",
        "USD",
    )
    assert (first["Konto"], first["Gegenkonto (ohne BU-Schlüssel)"], first["Belegdatum"]) == ("18100", "14600", "2011")
    assert first["Belegfeld 1"] == "Bestellung1frMller"
    assert len(first["Buchungstext"]) <= 60
    assert (second["Umsatz (ohne Soll/Haben-Kz)"], second["Soll/Haben-Kennzeichen"]) == ("5,50", "H")


def test_euros_of_a_machine_are_told_in_euros_and_move_no_dollars(merchant: Merchant, settings: Any) -> None:
    take_euros(settings)
    of_transfer(receive(merchant, 7_000_000, token="EURC"))
    [row] = read(lines_of(merchant))
    assert (row["kind"], row["token"], Decimal(row["gross"])) == ("machine_payment", "EURC", 7)
    assert (row["usd_value"], row["net_usd"]) == ("", "")
    for kind in ("xero", "quickbooks"):
        assert read(lines_of(merchant), kind) == []
