"""The pages for the accountant: months that there are, in the merchant's time zone, their files, and balances as of when."""

import csv
import io
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from zipfile import ZipFile

import pytest
import time_machine

from accounts.models import Merchant
from accounts.states import Mode
from reports.accountant.files import COLUMNS
from reports.dashboard import months
from tests.accounts.fee_entries import charged
from tests.dashboard.people import Desk
from tests.factories import LOCAL_NODES, WALLET, make_live_chain, make_wallet
from tests.reports.takings import earn, receive
from tests.wallets.days import make_movement, make_watched
from tests.x402.euros import take_euros
from wallets import held_now
from wallets.chains.family import ChainSpec
from wallets.models import WatchedBalance

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
LATE = datetime(2026, 10, 31, 23, 30, tzinfo=UTC)

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _in_november(merchant: Merchant) -> Any:
    merchant.created_at = datetime(2026, 8, 5, tzinfo=UTC)
    merchant.save(update_fields=["created_at"])
    with time_machine.travel(NOW, tick=False):
        yield


def file_of(desk: Desk, month: str, kind: str = "accountant") -> list[dict[str, str]]:
    """A file of a month."""
    answer = desk.get("dashboard_month_csv", month=month, kind=kind)
    assert answer.status_code == 200
    return list(csv.DictReader(io.StringIO(answer.getvalue().decode("utf-8-sig"))))


def test_a_month_is_one_press_and_its_file_another(viewer: Desk) -> None:
    page = viewer.get("dashboard_months").text
    assert "November 2026" in page
    assert viewer.url("dashboard_month", month="2026-11") in page
    assert viewer.url("dashboard_month_csv", month="2026-11", kind="accountant") in page
    listed = viewer.get("dashboard_months").context["months"]
    # A month before the first one, because a wallet's history is read back.
    assert list(map(str, listed)) == ["2026-11", "2026-10", "2026-09", "2026-08", "2026-07"]
    answer = viewer.get("dashboard_month_csv", month="2026-11", kind="accountant")
    assert answer["Content-Disposition"] == 'attachment; filename="florin-accountant-live-2026-11.csv"'
    assert answer.getvalue().decode("utf-8-sig").splitlines() == [",".join(COLUMNS)]


@pytest.mark.parametrize("kind", ["accountant", "xero"])
def test_a_viewers_file_has_buyers_addresses_masked(owner: Desk, viewer: Desk, kind: str) -> None:
    checkout = earn(owner.merchant, block_time=NOW).payment.checkout
    checkout.customer_email = "buyer@shop.example"
    checkout.save(update_fields=["customer_email"])
    column = "customer" if kind == "accountant" else "Payee"
    assert [row[column] for row in file_of(owner, "2026-11", kind)] == ["buyer@shop.example"]
    assert [row[column] for row in file_of(viewer, "2026-11", kind)] == ["b•••@shop.example"]


def test_months_begin_in_the_merchants_time_zone(owner: Desk) -> None:
    earn(owner.merchant, order_ref="HR-1", block_time=LATE)
    assert [row["order_ref"] for row in file_of(owner, "2026-10")] == ["HR-1"]
    owner.post("dashboard_time_zone", {"time_zone": "Europe/Berlin"})
    assert file_of(owner, "2026-10") == []
    [row] = file_of(owner, "2026-11")
    assert (row["date"], row["time"], row["time_utc"]) == ("2026-11-01", "00:30:00", "2026-10-31T23:30:00.000000Z")
    page = owner.get("dashboard_month", month="2026-11").text
    for words in ("November 2026, so far", "Europe/Berlin", "1 Nov, 00:30", "HR-1", "20 November 2026, 13:00"):
        assert words in page


@pytest.mark.parametrize("zone", ["", "Mars/Olympus"])
def test_an_unknown_time_zone_is_refused(owner: Desk, zone: str) -> None:
    assert owner.post("dashboard_time_zone", {"time_zone": zone}).status_code == 422
    owner.merchant.refresh_from_db()
    assert owner.merchant.time_zone == "UTC"


def test_a_viewer_cannot_set_the_time_zone(viewer: Desk) -> None:
    assert viewer.post("dashboard_time_zone", {"time_zone": "Europe/Berlin"}).status_code == 403


@pytest.mark.parametrize("month", ["2026-12", "9999-12", "2026-06", "0000-01", "2026-13", "x"])
def test_a_month_that_is_none_of_the_merchants_is_not_found(viewer: Desk, month: str) -> None:
    assert viewer.get("dashboard_month", month=month).status_code == 404
    assert viewer.get("dashboard_month_csv", month=month, kind="accountant").status_code == 404


def test_only_files_that_there_are_are_sent(viewer: Desk) -> None:
    earn(viewer.merchant, block_time=NOW - timedelta(days=1))
    assert viewer.get("dashboard_month_csv", month="2026-11", kind="sage").status_code == 404
    for kind in ("xero", "quickbooks"):
        assert len(file_of(viewer, "2026-11", kind)) == 1
    answer = viewer.client.get(
        viewer.url("dashboard_month_csv", month="2026-11", kind="datev"),
        {"adviser": "29098", "client": "x", "account": "12"},
    )
    assert answer["Content-Disposition"].startswith('attachment; filename="EXTF_')
    header = answer.getvalue().decode("cp1252").splitlines()[0].split(";")
    # What cannot be read counts as the usual number.
    assert (header[10], header[11], header[13]) == ("29098", "1", "4")


def test_a_statement_opens_where_the_month_before_closed(viewer: Desk) -> None:
    earn(viewer.merchant, 10_000_000, block_time=LATE)
    earn(viewer.merchant, 2_500_000, block_time=NOW - timedelta(days=1))
    charged(viewer.merchant, at=NOW - timedelta(days=1))
    [october] = viewer.get("dashboard_month", month="2026-10").context["sums"]
    page = viewer.get("dashboard_month", month="2026-11")
    [november] = page.context["sums"]
    assert (october.opening, october.closing) == (0, 10)
    assert (november.opening, november.received, november.closing) == (10, Decimal("2.5"), Decimal("12.5"))
    assert page.context["fees"] == Decimal("0.38")


def test_a_statement_tells_fees_only_where_they_are_charged(viewer: Desk, settings: Any) -> None:
    earn(viewer.merchant, 2_500_000, block_time=NOW - timedelta(days=1))
    entry = charged(viewer.merchant, at=NOW - timedelta(days=1))
    page = viewer.get("dashboard_month", month="2026-11")
    assert "Fee 0.375056 USD" in page.text
    settings.CHARGE_FEES = False
    page = viewer.get("dashboard_month", month="2026-11")
    assert "Fee" not in page.text
    assert [row.amount for row in page.context["lines"]] == ["2.50"]
    # What was charged stays in the file.
    assert [row["fee"] for row in file_of(viewer, "2026-11") if row["kind"] == "fee"] == [str(entry.amount)]


def test_files_keep_their_columns_where_no_fees_are_charged(viewer: Desk, settings: Any) -> None:
    settings.CHARGE_FEES = False
    earn(viewer.merchant, 2_500_000, block_time=NOW - timedelta(days=1))
    [row] = file_of(viewer, "2026-11")
    assert list(row) == list(COLUMNS)
    assert (row["fee"], Decimal(row["usd_value"]), Decimal(row["net_usd"])) == ("", Decimal("2.5"), Decimal("2.5"))


def test_a_month_that_is_too_long_for_xero_is_an_archive_of_files_that_are_not(
    viewer: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(months, "MOST_XERO_LINES", 2)
    for minutes in range(1, 6):
        earn(viewer.merchant, minutes * 1_000_000, block_time=NOW - timedelta(minutes=minutes))
        if minutes == 2:
            assert [row["*Amount"] for row in file_of(viewer, "2026-11", "xero")] == ["2.00", "1.00"]
    answer = viewer.get("dashboard_month_csv", month="2026-11", kind="xero")
    assert answer["Content-Type"] == "application/zip"
    with ZipFile(io.BytesIO(answer.getvalue())) as archive:
        files = [list(csv.DictReader(io.StringIO(archive.read(name).decode()))) for name in archive.namelist()]
        assert archive.namelist() == [f"florin-xero-live-2026-11-{number}.csv" for number in (1, 2, 3)]
    # Each has its header, and together they have each line once.
    assert [[row["*Amount"] for row in file] for file in files] == [["5.00", "4.00"], ["3.00", "2.00"], ["1.00"]]


def test_what_left_has_a_minus(viewer: Desk) -> None:
    make_movement(make_watched(viewer.merchant), 5_000_000, direction="out", block_time=NOW - timedelta(days=1))
    [row] = viewer.get("dashboard_month", month="2026-11").context["lines"]
    assert row.amount == "\N{MINUS SIGN}5.00"


def test_a_token_of_eighteen_decimals_is_printed_to_the_last_unit(viewer: Desk) -> None:
    receive(viewer.merchant, 10**18 + 1, token="DAI", block_time=NOW - timedelta(days=1))
    [row] = viewer.get("dashboard_month", month="2026-11").context["lines"]
    assert row.amount == "1.000000000000000001"


def test_a_long_month_is_printed_in_part_and_says_so(viewer: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(months, "MOST_PRINTED", 2)
    for days in range(1, 4):
        earn(viewer.merchant, block_time=NOW - timedelta(days=days))
    page = viewer.get("dashboard_month", month="2026-11")
    assert len(page.context["lines"]) == 2
    assert "Only the first 2 lines are shown" in page.text
    assert page.context["sums"][0].received == 75


def test_another_merchants_and_the_other_modes_money_is_in_no_file(owner: Desk, stranger: Desk) -> None:
    earn(stranger.user.memberships.get().merchant, block_time=NOW - timedelta(days=1))
    earn(owner.merchant, mode=Mode.TEST, block_time=NOW - timedelta(days=1))
    assert file_of(owner, "2026-11") == []
    assert stranger.get("dashboard_month_csv", month="2026-11", kind="accountant").status_code == 404


def test_balances_say_as_of_when_and_what_is_unknown(owner: Desk, settings: Any) -> None:
    settings.CHAIN_SETTINGS = dict(LOCAL_NODES)
    make_live_chain("polygon")
    make_wallet(owner.merchant, "polygon", WALLET)
    page = owner.get("dashboard_balances")
    assert {row.amount for row in page.context["holdings"].rows} == {None}
    assert "Watch this wallet" in page.text
    form = owner.get("dashboard_watch_wallet", f"?chain=polygon&address={WALLET}").context["form"]
    assert (form["chain"].value(), form["address"].value()) == ("polygon", WALLET)
    wallet = make_watched(owner.merchant, WALLET, chain="polygon")
    assert "Not read yet" in owner.get("dashboard_balances").text
    read_at = NOW - timedelta(hours=3)
    WatchedBalance.objects.create(wallet=wallet, token="USDC", units=12_500_000, height=7, read_at=read_at)
    page = owner.get("dashboard_balances")
    known = {row.token: (row.amount, row.as_of) for row in page.context["holdings"].rows}
    assert known == {"USDC": (Decimal("12.5"), read_at), "USDT": (None, None)}
    # A total of which nothing is known is not zero, and says nothing of other tokens.
    told = [(one.token, one.amount, one.unknown) for one in page.context["holdings"].totals]
    assert told == [("USDC", Decimal("12.5"), 0), ("USDT", None, 1)]
    assert ">Unknown</b>" in page.text


def test_wallets_that_nobody_watches_are_read_when_the_page_is_open_and_not_again_for_a_minute(
    owner: Desk, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.CHAIN_SETTINGS = dict(LOCAL_NODES)
    make_live_chain("polygon")
    make_wallet(owner.merchant, "polygon", WALLET)
    held_now.forget()
    asked: list[str] = []

    def ask(spec: ChainSpec, addresses: Collection[str]) -> dict[str, dict[str, int]]:
        asked.append(spec.name)
        return {address: {"USDC": 12_500_000, "USDT": 0} for address in addresses}

    monkeypatch.setattr(held_now, "_ask", ask)
    address = f"{owner.url('dashboard_balances')}?ask=1"
    assert f'hx-get="{address}"' in owner.get("dashboard_balances").text
    assert asked == []
    for _ in range(2):
        part = owner.client.get(address, headers={"HX-Request": "true"})
        known = {row.token: (row.amount, row.as_of) for row in part.context["holdings"].rows}
        assert known == {"USDC": (Decimal("12.5"), NOW), "USDT": (0, NOW)}
        assert "<html" not in part.text
        assert "hx-get" not in part.text
    assert asked == ["polygon"]
    # A node that does not answer leaves it unknown, and the wallet can still be watched.
    held_now.forget()
    monkeypatch.setattr(held_now, "_ask", lambda *_: {})
    part = owner.client.get(address, headers={"HX-Request": "true"})
    assert {row.amount for row in part.context["holdings"].rows} == {None}
    assert "Watch this wallet" in part.text


def test_balances_have_euros_and_watched_wallets_apart(owner: Desk, settings: Any) -> None:
    settings.CHAIN_SETTINGS = dict(LOCAL_NODES)
    take_euros(settings)
    make_live_chain("base")
    make_wallet(owner.merchant, "base", WALLET)
    mine = make_watched(owner.merchant, WALLET)
    other = make_watched(owner.merchant, f"0x{'ab' * 20}", label="Cold storage")
    for wallet, token, units in ((mine, "USDC", 2_000_000), (other, "USDC", 9_000_000), (other, "USDT", 0)):
        WatchedBalance.objects.create(wallet=wallet, token=token, units=units, height=7, read_at=NOW)
    holdings = owner.get("dashboard_balances").context["holdings"]
    # Of euros nothing is expected at a wallet until it has some.
    assert [(row.token, row.amount) for row in holdings.rows] == [("USDC", 2)]
    WatchedBalance.objects.create(wallet=mine, token="EURC", units=5_000_000, height=7, read_at=NOW)
    page = owner.get("dashboard_balances")
    holdings = page.context["holdings"]
    assert [(one.token, one.amount) for one in holdings.totals] == [("EURC", 5), ("USDC", 2)]
    assert [(row.place, row.name, row.amount) for row in holdings.others] == [("Cold storage", "USDC on Base", 9)]
    assert "They are in no sum above." in page.text


def test_a_silent_network_is_named_and_what_deposit_addresses_hold_is_known(owner: Desk) -> None:
    make_wallet(owner.merchant, "base", WALLET)
    wallet = make_watched(owner.merchant, WALLET)
    WatchedBalance.objects.create(wallet=wallet, token="USDC", units=1, height=7, read_at=NOW - timedelta(days=2))
    earn(owner.merchant, 25_000_000, block_time=NOW)
    page = owner.get("dashboard_balances")
    assert "the network does not answer now" in page.text
    deposits = [row for row in page.context["holdings"].rows if row.place == "Deposit addresses"]
    assert [(row.name, row.amount, row.as_of) for row in deposits] == [("USDC on Base", 25, None)]


def test_test_mode_has_no_balances(owner_in_test_mode: Desk) -> None:
    assert "Test mode moves no money" in owner_in_test_mode.get("dashboard_balances").text
