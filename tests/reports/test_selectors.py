"""Which transfers a report is about."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from accounts.states import Mode
from gateway.core.times import midnight
from reports.totals import Part, cover_of, span_of
from tests.contract.client import ApiClient, client_of
from tests.factories import NOON, WALLET, make_wallet
from tests.reports.answers import listed, named
from tests.reports.takings import days_later, earn, receive
from wallets.models import Transfer

pytestmark = pytest.mark.django_db


def test_nobody_sees_what_others_or_the_other_mode_received(shop: ApiClient) -> None:
    mine = earn(shop.merchant)
    tested = receive(shop.merchant, mode=Mode.TEST)
    earn(client_of(mode=Mode.LIVE).merchant)
    assert listed(shop) == named(mine)
    assert listed(client_of(shop.merchant, Mode.TEST)) == named(tested)
    assert listed(client_of(mode=Mode.LIVE)) == []


def test_from_is_included_and_to_is_not(shop: ApiClient) -> None:
    midnight = NOON.replace(hour=0)
    wanted = receive(shop.merchant, block_time=midnight)
    receive(shop.merchant, block_time=midnight.replace(day=21))
    receive(shop.merchant, block_time=midnight.replace(day=19, hour=23))
    assert listed(shop, since="2026-11-20", to="2026-11-21") == named(wanted)
    moment = "2026-11-20T01:00:00+01:00"
    assert listed(shop, since=moment, to="2026-11-20T00:00:00.000001Z") == named(wanted)


def test_each_filter_leaves_what_it_names(shop: ApiClient) -> None:
    on_base = earn(shop.merchant)
    tether = receive(shop.merchant, chain="polygon", token="USDT", **days_later(1))
    assert listed(shop, chain="base") == named(on_base)
    assert listed(shop, token="USDT") == named(tether)
    assert listed(shop, direction="in") == named(tether, on_base)
    assert listed(shop, direction="out") == []
    assert listed(shop, tag="shop-1") == []
    assert listed(shop, wallet=on_base.recipient.lower()) == named(on_base)
    assert listed(shop, wallet="0x" + "11" * 20) == []


def test_a_wallet_is_where_deposit_addresses_pay_to(shop: ApiClient) -> None:
    assert shop.merchant is not None
    deposited = receive(shop.merchant)
    direct = receive(shop.merchant, chain="ethereum", **days_later(1))
    wallet = make_wallet(shop.merchant, "ethereum")
    Transfer.objects.filter(pk=direct.pk).update(deposit=None, wallet=wallet, recipient=wallet.address)
    assert listed(shop, wallet=WALLET) == named(direct, deposited)
    assert listed(shop, wallet=WALLET, chain="ethereum") == named(direct)


# Spans of time, taken apart into whole days and the rest.


DAY = date(2026, 11, 20)


def test_whole_days_have_no_rest() -> None:
    span = span_of(midnight(DAY), midnight(DAY + timedelta(days=2)))
    assert (span.first, span.end, span.rest) == (DAY, DAY + timedelta(days=2), ())
    assert span.has_days


def test_what_is_no_whole_day_is_left_at_both_ends() -> None:
    since, until = (datetime(2026, 11, 19, 6, tzinfo=UTC), datetime(2026, 11, 22, 7, tzinfo=UTC))
    span = span_of(since, until)
    assert (span.first, span.end) == (DAY, date(2026, 11, 22))
    assert span.rest == ((since, midnight(DAY)), (midnight(date(2026, 11, 22)), until))


def test_some_hours_of_a_day_are_no_day() -> None:
    since = datetime(2026, 11, 20, 6, tzinfo=UTC)
    span = span_of(since, since + timedelta(hours=2))
    assert not span.has_days
    assert span.rest == ((since, since + timedelta(hours=2)),)


def test_days_are_those_of_utc() -> None:
    east = timezone(timedelta(hours=9))
    assert span_of(datetime(2026, 11, 20, 9, tzinfo=east), None).first == DAY


def test_without_bounds_all_days_are_in_it() -> None:
    span = span_of(None, None)
    assert (span.first, span.end) == (date.min, date.max)
    assert span.rest == ()


NEXT = DAY + timedelta(days=1)


def at(hour: int, *, day: date = DAY) -> datetime:
    return midnight(day) + timedelta(hours=hour)


def covered(since: datetime, until: datetime, *, now: datetime) -> tuple[object, ...]:
    cover = cover_of(since, until, now=now)
    return cover.first, cover.end, cover.parts


def test_less_than_half_a_day_is_read_row_by_row() -> None:
    since, until = at(20, day=DAY - timedelta(days=1)), at(4, day=NEXT)
    parts = (Part(since, midnight(DAY)), Part(midnight(NEXT), until))
    told = covered(since, until, now=until + timedelta(days=9))
    assert told == (DAY, NEXT, parts)


def test_of_more_than_half_a_day_the_rest_is_taken_off() -> None:
    before = DAY - timedelta(days=1)
    since, until = at(4, day=before), at(20, day=NEXT)
    parts = (
        Part(midnight(before), since, is_left_out=True),
        Part(until, midnight(NEXT + timedelta(days=1)), is_left_out=True),
    )
    told = covered(since, until, now=until + timedelta(days=9))
    assert told == (before, NEXT + timedelta(days=1), parts)


def test_what_is_after_now_costs_nothing() -> None:
    until = at(1)
    told = covered(midnight(DAY - timedelta(days=2)), until, now=until)
    left_out = Part(until, midnight(NEXT), is_left_out=True)
    assert told == (DAY - timedelta(days=2), NEXT, (left_out,))


@pytest.mark.parametrize(("first", "last", "is_left_out"), [(3, 9, False), (3, 22, True)])
def test_some_hours_of_one_day(first: int, last: int, is_left_out: bool) -> None:
    since, until = at(first), at(last)
    told = covered(since, until, now=at(0, day=NEXT))
    if not is_left_out:
        assert told == (DAY, DAY, (Part(since, until),))
        return
    around = [(midnight(DAY), since), (until, midnight(NEXT))]
    parts = tuple(Part(*times, is_left_out=True) for times in around)
    assert told == (DAY, NEXT, parts)


def test_the_last_of_all_days_has_no_day_after_it() -> None:
    since = at(1, day=date.max)
    until = since + timedelta(minutes=1)
    [part] = cover_of(since, until, now=at(0)).parts
    assert (part.until, part.is_left_out) == (until, False)
