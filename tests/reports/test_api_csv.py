"""Transactions as a file: all of them, harmless, and in the same memory however many there are."""

import csv
import gc
import io
import tracemalloc
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

import pytest

from accounts.models import FeeEntry, Merchant
from accounts.states import FeeKind, Mode
from gateway.core.exports import csv_pieces
from reports import entries
from reports.entries import report_rows
from reports.inputs import ReportFilter
from reports.serializers import CSV_HEADER, csv_cells
from tests.contract.client import ApiClient, client_of
from tests.dashboard.machines import make_machine_payment, make_settlement, of_transfer
from tests.factories import NOON, make_checkout, make_merchant, make_transfer
from tests.reports.answers import summary
from tests.reports.takings import copy, days_later, earn, receive
from tests.wallets.days import make_movement, make_watched

pytestmark = pytest.mark.django_db


def lines_of(shop: ApiClient, **query: Any) -> list[dict[str, str]]:
    """The lines of the file."""
    answer = shop.get("/reports/transactions", query | {"format": "csv"})
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert answer.headers["Content-Disposition"].startswith("attachment;")
    return list(csv.DictReader(io.StringIO(answer.raw.decode())))


def test_the_file_has_the_lines_of_the_list(shop: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    # So that the file is made of several chunks, one of which ends within a block.
    monkeypatch.setattr(entries, "CHUNK_ROWS", 2)
    assert shop.merchant is not None
    checkout = make_checkout(shop.merchant)
    for _ in range(4):
        make_transfer(checkout)
    earn(shop.merchant, order_ref="HR-1", **days_later(1))
    earn(client_of(mode=Mode.LIVE).merchant)
    listed = shop.get("/reports/transactions").body["data"]
    lines = lines_of(shop)
    assert len(lines) == 5
    assert [line["id"] for line in lines] == [row["id"] for row in listed]
    for line, row in zip(lines, listed, strict=True):
        assert line == {name: "" if row[name] is None else str(row[name]) for name in CSV_HEADER}


def test_it_is_narrowed_as_the_list_is(shop: ApiClient) -> None:
    earn(shop.merchant)
    wanted = receive(shop.merchant, chain="polygon")
    [line] = lines_of(shop, chain="polygon")
    assert line["id"] == wanted.public_id
    assert lines_of(shop, direction="out") == []


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "\t", "＝"])
def test_no_cell_is_a_program(shop: ApiClient, begin: str) -> None:
    hostile = f"{begin}HYPERLINK(1)"
    earn(shop.merchant, order_ref=hostile)
    [line] = lines_of(shop)
    assert line["order_ref"] == f"'{hostile}"
    assert line["amount"] == "25.000000"


def test_a_row_says_what_it_is(shop: ApiClient) -> None:
    """Its kind, what it paid for, its fee, its value and where it can be looked up; another token counts nothing."""
    paid = earn(shop.merchant)
    paid_for = paid.payment.checkout.public_id
    FeeEntry.objects.create(
        merchant=paid.merchant,
        kind=FeeKind.CHECKOUT,
        subject_id=paid_for,
        chain="base",
        token="USDC",
        received=Decimal(25),
        rate=Decimal("0.01"),
        amount=Decimal("0.25"),
        charged_at=NOON,
    )
    machine = of_transfer(receive(shop.merchant, **days_later(1)))
    receive(shop.merchant, **days_later(2))
    receive(shop.merchant, 25 * 10**18 + 1, token="DAI", **days_later(3))
    assert shop.merchant is not None
    make_movement(make_watched(shop.merchant), **days_later(4))
    rows = {row["kind"]: row for row in shop.get("/reports/transactions").body["data"]}
    assert set(rows) == {"checkout", "x402", "uncredited", "other_token", "watched"}
    assert rows["checkout"]["checkout_id"] == paid_for
    assert rows["checkout"]["fee"] == "0.250000"
    assert rows["checkout"]["usd_value"] == "25.000000"
    named = rows["x402"]["x402_payment_id"], rows["x402"]["resource"]
    assert named == (machine.public_id, machine.resource)
    other = rows["other_token"]
    assert other["amount"] == "25.000000000000000001"
    assert (other["usd_value"], other["fee"]) == (None, None)
    url = rows["uncredited"]["explorer_url"]
    assert url is None or url.endswith(rows["uncredited"]["tx_hash"])
    lines = {line["kind"]: line for line in lines_of(shop)}
    assert lines["other_token"]["amount"] == "25.000000000000000001"
    tokens = {row["token"] for row in summary(shop)["by_chain"]}
    assert tokens == {"USDC"}


def test_settlements_and_machines_payments_are_files_for_programs(shop: ApiClient) -> None:
    assert shop.merchant is not None
    settled = make_settlement(shop.merchant)
    payment = make_machine_payment(shop.merchant)
    make_settlement(make_merchant())
    [row] = shop.get("/reports/settlements").body["data"]
    assert (row["id"], row["amount"]) == (settled.public_id, "25.000000")
    for path, public_id in (("/reports/settlements", settled.public_id), ("/x402/payments", payment.public_id)):
        raw = shop.get(path, {"format": "csv"}).raw.decode()
        [line] = csv.DictReader(io.StringIO(raw))
        assert line["id"] == public_id
        assert shop.get(path, {"format": "xml"}).status == 400


def _send(pieces: Iterable[str]) -> int:
    return sum(len(piece) for piece in pieces)


def _keep(pieces: Iterable[str]) -> int:
    return len("".join(pieces))


def peak_of(merchant: Merchant, consume: Callable[[Iterable[str]], int]) -> int:
    """The most bytes that were held while a merchant's file was made."""
    rows = report_rows(ReportFilter(merchant.pk, Mode.LIVE))
    gc.collect()
    tracemalloc.start()
    try:
        assert consume(csv_pieces(CSV_HEADER, csv_cells(rows))) > 100
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.unmeasured
def test_ten_times_the_lines_take_no_more_memory() -> None:
    small, large = make_merchant(), make_merchant()
    for merchant, times in ((small, 1_999), (large, 19_999)):
        copy(earn(merchant), times)
    peak_of(small, _send)  # what is imported or cached once is no part of a file
    # A chunk more or less may wait for the collector of garbage.
    assert peak_of(large, _send) < 1.4 * peak_of(small, _send)
    # The control: who keeps the file is seen.
    assert peak_of(large, _keep) > 1.5 * peak_of(small, _keep)
