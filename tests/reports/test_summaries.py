"""`GET /reports/summary`: its sums are those of the transfers, to the last unit."""

import random
from collections import defaultdict
from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.db import connection
from django.db.models import Sum

from accounts.models import Merchant
from accounts.states import Mode
from gateway.core.daily_totals import fold_all
from reports import summaries, totals
from reports.inputs import ReportFilter
from reports.selectors import movements_wanted, transfers_wanted
from reports.summaries import Sums, summary_of
from reports.totals import Cover, Part, cover_of, span_of
from tests.accounts.fee_entries import charged
from tests.contract.client import ApiClient, client_of
from tests.dashboard.machines import of_transfer
from tests.exhaustive import sample
from tests.factories import NOON, make_checkout, make_merchant, make_transfer
from tests.reports.answers import summary
from tests.reports.takings import copy, days_later, earn, lose, receive, see
from tests.wallets.days import make_movement, make_watched
from tests.x402.euros import take_euros
from wallets.models import Transfer, TransferClaim, WatchedMovement, WatchedWallet
from wallets.states import Direction, TransferState, TransferUse
from wallets.transfers.selectors import NEWEST_FIRST, older_than

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("evening")]


NOTHING = {"inflow": "0.000000", "outflow": "0.000000", "net": "0.000000", "unconfirmed": "0.000000"}


def test_nothing_adds_up_to_nothing(shop: ApiClient) -> None:
    assert summary(shop) == {
        "from": "2026-10-21T18:00:30.000000Z",
        "to": "2026-11-20T18:00:30.000000Z",
        "livemode": True,
        **NOTHING,
        "fees": "0.00",
        "counts": {"in": 0, "out": 0, "unconfirmed": 0, "credited": 0, "uncredited": 0},
        "balances": [],
        "by_chain": [],
        "by_day": [],
        "by_tag": [],
    }


def test_final_money_counts_and_other_money_does_not(shop: ApiClient) -> None:
    earn(shop.merchant, 10_000_001)
    receive(shop.merchant, 2_000_000, chain="polygon", token="USDT")
    see(shop.merchant, 300_000)
    lose(shop.merchant, 4_000_000)
    # Not one of those that pay a checkout, and worth whatever it is worth.
    receive(shop.merchant, 9_000_000, token="USDT")
    body = summary(shop)
    assert body["inflow"] == body["net"] == "12.000001"
    assert body["unconfirmed"] == "0.300000"
    assert body["counts"] == {"in": 2, "out": 0, "unconfirmed": 1, "credited": 1, "uncredited": 1}
    assert [(part["chain"], part["token"]) for part in body["by_chain"]] == [("base", "USDC"), ("polygon", "USDT")]
    assert [part["inflow"] for part in body["by_chain"]] == ["10.000001", "2.000000"]
    [day] = body["by_day"]
    assert (day["day"], day["inflow"], day["count"]) == ("2026-11-20", "12.000001", 2)


def test_euros_that_machines_paid_are_in_no_sum_of_dollars(shop: ApiClient, settings: Any) -> None:
    take_euros(settings)
    of_transfer(receive(shop.merchant, 7_000_000, token="EURC"))
    of_transfer(receive(shop.merchant, 2_000_000))
    body = summary(shop)
    assert (body["inflow"], body["counts"]["credited"]) == ("2.000000", 1)
    assert [part["token"] for part in body["by_chain"]] == ["USDC"]


@pytest.mark.parametrize("since", ["2026-11-20", "2026-11-20T00:00:01"], ids=["kept days", "rows"])
def test_what_only_a_refund_claimed_paid_for_nothing(shop: ApiClient, since: str) -> None:
    for kind in TransferUse:
        TransferClaim.objects.create(transfer=receive(shop.merchant, 2_000_000), kind=kind, claimed_at=NOON)
    fold_all()
    counts = summary(shop, since=since)["counts"]
    assert (counts["credited"], counts["uncredited"]) == (2, 1)


def test_nobody_adds_up_what_others_received(shop: ApiClient) -> None:
    earn(shop.merchant)
    receive(shop.merchant, mode=Mode.TEST)
    assert summary(shop)["inflow"] == "25.000000"
    assert summary(client_of(shop.merchant, Mode.TEST))["counts"]["in"] == 1
    assert summary(client_of(mode=Mode.LIVE))["inflow"] == "0.000000"


def test_days_are_those_of_utc_and_end_before_to(shop: ApiClient) -> None:
    assert shop.merchant is not None
    # The dashboard's, and no program's.
    shop.merchant.time_zone = "Pacific/Auckland"
    shop.merchant.save(update_fields=["time_zone"])
    midnight = NOON.replace(hour=0)
    for moment in (midnight, midnight - timedelta(microseconds=1)):
        earn(shop.merchant, block_time=moment)
    both = summary(shop, since="2026-11-19", to="2026-11-21")
    assert [day["day"] for day in both["by_day"]] == ["2026-11-20", "2026-11-19"]
    assert summary(shop, since="2026-11-20")["inflow"] == "25.000000"
    assert summary(shop, to="2026-11-20")["inflow"] == "25.000000"


def test_chain_and_tag_narrow_it(shop: ApiClient) -> None:
    earn(shop.merchant)
    assert summary(shop, chain="base")["inflow"] == "25.000000"
    assert summary(shop, chain="polygon")["inflow"] == "0.000000"
    assert summary(shop, tag="shop-1")["inflow"] == "0.000000"


def test_sums_are_those_of_the_transfers_to_the_last_unit(shop: ApiClient) -> None:
    chance = random.Random(5)
    assert shop.merchant is not None
    for _ in range(60):
        make = chance.choice((earn, receive, see, lose))
        chain, token = chance.choice((("base", "USDC"), ("polygon", "USDT")))
        make(shop.merchant, chance.randint(1, 10**12), chain=chain, token=token, **days_later(-chance.randint(1, 20)))
    body = summary(shop)
    raw = Transfer.objects.filter(merchant=shop.merchant)
    for state, field in ((TransferState.CONFIRMED, "inflow"), (TransferState.DETECTED, "unconfirmed")):
        units = raw.filter(state=state).aggregate(sum=Sum("units"))["sum"]
        for parts in ([body], body["by_chain"], body["by_day"]):
            told = sum(Decimal(part[field]) for part in parts)
            assert told * 10**6 == units
    assert len(body["by_day"]) > 5


def only_added(since: datetime, until: datetime, *, now: datetime) -> Cover:
    """The same range, with nothing taken off."""
    span = span_of(since, until)
    return Cover(span.first, span.end, tuple(Part(*times) for times in span.rest))


def history(merchant: Merchant, chance: random.Random) -> list[datetime]:
    """Transfers and movements of every kind; return their times."""
    wallets = [make_watched(merchant, tags=tags) for tags in (["till"], ["till", "eu"])]
    moments = [NOON + timedelta(seconds=chance.randrange(-300_000, 300_000)) for _ in range(60)]
    for moment in moments:
        units, at = chance.randrange(1, 10**12), {"block_time": moment}
        chain, token = chance.choice((("base", "USDC"), ("polygon", "USDT")))
        make = chance.choice((earn, receive, see, lose))
        # USDT on Base is recorded only.
        unknown = chance.random() < 0.1
        make(merchant, units, chain=chain, token="USDT" if unknown else token, **at)
        make_movement(
            chance.choice(wallets),
            units,
            direction=chance.choice(list(Direction)),
            is_payment=chance.random() < 0.3,
            state=chance.choice(list(TransferState)),
            **at,
        )
        chance.choice((fold_all, list))()
    return moments


@pytest.mark.parametrize("seed", sample(range(2), 1))
def test_rows_taken_off_a_day_leave_what_the_others_add_up_to(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    chance, merchant = random.Random(seed), make_merchant()
    moments = history(merchant, chance)
    taken_off = 0
    for _ in range(6):
        since, until = sorted(chance.sample(moments, 2))
        cover = cover_of(since, until, now=until)
        taken_off += any(part.is_left_out for part in cover.parts)
        everything = ReportFilter(merchant.pk, Mode.LIVE, since=since, until=until)
        by_tag, by_chain = (replace(everything, tag="eu"), replace(everything, chain="polygon"))
        for wanted in (everything, by_tag, by_chain):
            told = summary_of(wanted, now=until)
            with monkeypatch.context() as patch:
                patch.setattr(summaries, "cover_of", only_added)
                assert told == summary_of(wanted, now=until)
    assert taken_off > 3


# The first has summer time, the third has quarters of an hour, and the last has the earliest days.
ZONES = (
    "Europe/London",
    "Europe/Berlin",
    "Asia/Kathmandu",
    "America/Los_Angeles",
    "Pacific/Auckland",
    "Pacific/Kiritimati",
)


@pytest.mark.parametrize("zone", [ZoneInfo(name) for name in sample(ZONES, 3)], ids=str)
def test_the_days_of_a_time_zone_are_those_of_the_rows(zone: ZoneInfo) -> None:
    chance, merchant = random.Random(str(zone)), make_merchant()
    moments = history(merchant, chance)
    for since, until in (sorted(chance.sample(moments, 2)), (min(moments), max(moments))):
        wanted = ReportFilter(merchant.pk, Mode.LIVE, since=since, until=until)
        told = summary_of(wanted, now=until, zone=zone)
        in_utc = summary_of(wanted, now=until)
        assert replace(told, by_day={}) == replace(in_utc, by_day={})
        assert told.by_day == by_day_of_rows(wanted, zone)
        by_tag = replace(wanted, tag="eu")
        assert summary_of(by_tag, now=until, zone=zone).by_day == by_day_of_rows(by_tag, zone)


def by_day_of_rows(wanted: ReportFilter, zone: ZoneInfo) -> dict[date, Sums]:
    """The sums of each day, added up row by row."""
    found: dict[date, Sums] = defaultdict(Sums)
    rows: list[Transfer | WatchedMovement] = [
        *transfers_wanted(wanted).select_related("claim"),
        *movements_wanted(wanted),
    ]
    for row in rows:
        if (row.chain, row.token) != ("base", "USDT"):
            found[row.block_time.astimezone(zone).date()] += sums_of_row(row)
    return {day: sums for day, sums in sorted(found.items(), reverse=True) if sums != Sums()}


def sums_of_row(row: Transfer | WatchedMovement) -> Sums:
    """What a row adds to a day."""
    units = int(row.units)
    is_in = getattr(row, "direction", Direction.IN) == Direction.IN
    if row.state == TransferState.DETECTED:
        return Sums(unconfirmed=units, waiting=1) if is_in else Sums()
    if row.state != TransferState.CONFIRMED:
        return Sums()
    if not is_in:
        return Sums(outflow=units, left=1)
    if isinstance(row, WatchedMovement):
        return Sums(inflow=units, came=1)
    is_credited = hasattr(row, "claim")
    return Sums(inflow=units, came=1, credited=int(is_credited), uncredited=int(not is_credited))


def test_reports_read_an_index_however_many_others_received() -> None:
    mine, others = make_merchant(), make_merchant()
    copy(receive(mine), 300)
    copy(receive(others), 10_000)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE wallets_transfer")
    wanted = ReportFilter(mine.pk, Mode.LIVE, since=NOON, until=NOON + timedelta(days=1))
    found = transfers_wanted(wanted)
    deep = older_than(found, NOON + timedelta(minutes=4), 10**6)
    for rows in (found, deep):
        plan = rows.order_by(*NEWEST_FIRST)[:20].explain()
        assert "transfer_report" in plan
        assert "Sort" not in plan
    assert "Seq Scan" not in found.explain()


# Days that are summed up already.


def watch(shop: ApiClient, *tags: str, **facts: Any) -> WatchedWallet:
    """A watched wallet of the shop."""
    assert shop.merchant is not None
    return make_watched(shop.merchant, tags=list(tags), **facts)


def listed(shop: ApiClient, **query: Any) -> Any:
    """The ids of a list."""
    answer = shop.get("/reports/transactions", query)
    assert answer.status == 200, answer.body
    return [row["id"] for row in answer.body["data"]]


@pytest.mark.parametrize("query", [{}, {"tag": "till"}, {"to": "2026-11-20T12:30:00"}])
def test_a_deep_page_passes_over_days_and_has_the_rows_it_had_without(
    shop: ApiClient, monkeypatch: pytest.MonkeyPatch, query: dict[str, str]
) -> None:
    wallet, chance = watch(shop, "till"), Random(2)
    assert shop.merchant is not None
    checkout = make_checkout(shop.merchant)
    for _ in range(30):
        moment = NOON + timedelta(hours=chance.randrange(-60, 6))
        make_transfer(checkout, block_time=moment)
        make_movement(wallet, block_time=moment, is_payment=chance.random() < 0.3)
    everything = listed(shop, limit=100, **query)
    monkeypatch.setattr(totals, "_FEW", 1)
    for offset in range(0, len(everything) + 2, 3):
        page = listed(shop, limit=5, offset=offset, **query)
        assert page == everything[offset : offset + 5]


# What a merchant's payments of some days cost it.


def test_fees_are_those_charged_in_the_time_less_those_taken_back_in_it(shop: ApiClient) -> None:
    assert shop.merchant is not None
    charged(shop.merchant, "100.000000", at=NOON)
    charged(shop.merchant, "200.000000", at=NOON - timedelta(days=3))
    charged(shop.merchant, "400.000000", at=NOON - timedelta(days=40), voided_at=NOON - timedelta(days=2))
    charged(make_merchant(), "800.000000", at=NOON)
    fold_all()
    assert summary(shop)["fees"] == "-1.50"
    assert summary(shop, since="2026-11-19")["fees"] == "1.50"
    assert summary(shop, since="2026-11-20T12:00:01")["fees"] == "0.00"
    assert summary(shop, chain="polygon")["fees"] == "0.00"
    assert summary(shop, tag="till")["fees"] == "0.00"
    assert summary(client_of(shop.merchant, Mode.TEST))["fees"] == "0.00"
