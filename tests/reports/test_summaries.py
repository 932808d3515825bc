"""`GET /reports/summary`: its sums are those of the transfers, to the last unit."""

import random
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal

import pytest
from django.db import connection
from django.db.models import Sum

from accounts.models import Merchant
from accounts.states import Mode
from reports import summaries
from reports.inputs import ReportFilter
from reports.selectors import transfers_wanted
from reports.spans import Cover, Part, cover_of, span_of
from reports.summaries import summary_of
from tests.contract.client import ApiClient, client_of
from tests.factories import NOON, make_merchant
from tests.reports.answers import summary
from tests.reports.takings import copy, days_later, earn, lose, receive, see
from tests.wallets.days import make_movement, make_watched
from wallets.models import Transfer
from wallets.states import Direction, TransferState
from wallets.transfers.block_pages import NEWEST_FIRST, older_than
from wallets.transfers.totals import fold_days

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


def test_nobody_adds_up_what_others_received(shop: ApiClient) -> None:
    earn(shop.merchant)
    receive(shop.merchant, mode=Mode.TEST)
    assert summary(shop)["inflow"] == "25.000000"
    assert summary(client_of(shop.merchant, Mode.TEST))["counts"]["in"] == 1
    assert summary(client_of(mode=Mode.LIVE))["inflow"] == "0.000000"


def test_days_are_those_of_utc_and_end_before_to(shop: ApiClient) -> None:
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
        chance.choice((fold_days, list))()
    return moments


@pytest.mark.parametrize("seed", range(2))
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
