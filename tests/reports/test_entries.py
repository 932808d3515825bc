"""Watched wallets in reports: what moved in and out of them beside what was paid, and nothing told twice."""

import csv
import io
import re
from datetime import timedelta
from decimal import Decimal
from random import Random
from typing import Any

import pytest

from accounts.states import Mode
from gateway.core.daily_totals import fold_all
from payouts.lifecycle.service import conclude_payout
from payouts.models import Payout
from reports import entries
from tests.contract.client import ApiClient
from tests.exhaustive import sample
from tests.factories import NOON, make_checkout, make_transfer
from tests.payouts.factories import BUYER, approved, make_paid, make_payout, outflow_for, refund_of
from tests.reports.answers import listed, named, summary
from tests.reports.takings import days_later, earn, lose, receive, see
from tests.wallets.days import make_movement, make_watched
from wallets.models import Transfer, WatchedBalance, WatchedMovement, WatchedWallet
from wallets.states import Direction, TransferState

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("evening")]

OUT: dict[str, Any] = {"direction": Direction.OUT}

PAYMENT: dict[str, Any] = {"is_payment": True}


def watch(shop: ApiClient, *tags: str, **facts: Any) -> WatchedWallet:
    """A watched wallet of the shop."""
    assert shop.merchant is not None
    return make_watched(shop.merchant, tags=list(tags), **facts)


def hold(wallet: WatchedWallet, token: str, units: int) -> None:
    """What a wallet was last seen to hold."""
    WatchedBalance.objects.create(wallet=wallet, token=token, units=units, height=1, read_at=NOON)


def test_what_moves_is_added_to_what_is_paid_and_payments_are_not_told_twice(shop: ApiClient) -> None:
    earn(shop.merchant, 10_000_000)
    wallet = watch(shop)
    make_movement(wallet, 10_000_000, **PAYMENT)
    make_movement(wallet, 3_000_000)
    make_movement(wallet, 4_000_001, **OUT)
    make_movement(wallet, 500_000, state=TransferState.DETECTED)
    make_movement(wallet, 600_000, state=TransferState.DETECTED, **OUT)
    make_movement(wallet, 700_000, state=TransferState.ORPHANED)
    make_movement(wallet, 800_000, token="USDT")
    body = summary(shop)
    told = [body[name] for name in ("inflow", "outflow", "net", "unconfirmed")]
    assert told == ["13.000000", "4.000001", "8.999999", "0.500000"]
    assert body["counts"] == {"in": 2, "out": 1, "unconfirmed": 1, "credited": 1, "uncredited": 0}
    [part], [day] = body["by_chain"], body["by_day"]
    assert part["outflow"] == day["outflow"] == "4.000001"
    assert part["count"] == day["count"] == 3


def test_a_tag_has_all_that_moved_in_its_wallets_payments_included(shop: ApiClient) -> None:
    earn(shop.merchant, 10_000_000)
    both, one, none = watch(shop, "till", "oslo"), watch(shop, "till"), watch(shop)
    make_movement(both, 10_000_000, **PAYMENT)
    make_movement(one, 2_000_000, **OUT)
    make_movement(none, 400_000)
    tags = {part["tag"]: part for part in summary(shop)["by_tag"]}
    assert {tag: part["inflow"] for tag, part in tags.items()} == {"oslo": "10.000000", "till": "10.000000"}
    assert (tags["till"]["net"], tags["till"]["count"]) == ("8.000000", 2)
    narrowed = summary(shop, tag="till")
    assert (narrowed["inflow"], narrowed["outflow"]) == ("10.000000", "2.000000")
    assert summary(shop, tag="oslo")["outflow"] == "0.000000"
    assert summary(shop, tag="x")["by_tag"] == []


def test_balances_are_those_of_wallets_that_are_still_watched(shop: ApiClient) -> None:
    first, second = watch(shop, "till"), watch(shop)
    removed, tested = watch(shop, removed_at=NOON), watch(shop, mode=Mode.TEST)
    for wallet in (first, second, removed, tested):
        hold(wallet, "USDC", 1_500_000)
    hold(first, "USDT", 2)
    hold(watch(shop, chain="polygon"), "USDC", 7)
    assert summary(shop)["balances"] == [
        {"chain": "base", "token": "USDC", "amount": "3.000000"},
        {"chain": "base", "token": "USDT", "amount": "0.000002"},
        {"chain": "polygon", "token": "USDC", "amount": "0.000007"},
    ]
    assert len(summary(shop, tag="till")["balances"]) == 2
    assert len(summary(shop, chain="polygon")["balances"]) == 1


@pytest.mark.parametrize("seed", sample(range(2), 1))
def test_kept_days_and_what_is_left_at_the_ends_are_the_raw_sums_at_any_moment(shop: ApiClient, seed: int) -> None:
    chance = Random(seed)
    assert shop.merchant is not None
    wallet = watch(shop, "till")
    moments = [NOON + timedelta(seconds=chance.randrange(-400_000, 400_000)) for _ in range(40)]
    for moment in moments:
        units = chance.randrange(1, 10**12)
        make = chance.choice((earn, receive, see, lose))
        make(shop.merchant, units, block_time=moment)
        direction = chance.choice(list(Direction))
        make_movement(wallet, units, block_time=moment, direction=direction)
        chance.choice((fold_all, list))()
    for _ in range(8):
        since, until = sorted(chance.sample(moments, 2))
        query = {"from": since.isoformat(), "to": until.isoformat()}
        within = {"block_time__gte": since, "block_time__lt": until}
        transfers = Transfer.objects.filter(**within)
        movements = WatchedMovement.objects.filter(**within)
        final = [t.units for t in transfers if t.state == TransferState.CONFIRMED]
        into = [m.units for m in movements if m.direction == Direction.IN]
        out = [m.units for m in movements if m.direction == Direction.OUT]
        body = shop.get("/reports/summary", query).body
        assert Decimal(body["inflow"]) * 10**6 == sum(final) + sum(into)
        assert Decimal(body["outflow"]) * 10**6 == sum(out)
        total = shop.get("/reports/transactions", query).body["total"]
        assert total == len(transfers) + len(movements)


def test_the_list_has_both_newest_first_and_each_filter_leaves_what_it_names(shop: ApiClient) -> None:
    paid = earn(shop.merchant)
    till, other = watch(shop, "till"), watch(shop)
    left = make_movement(till, **days_later(1), **OUT)
    came = make_movement(other, **days_later(-1))
    paid_there = make_movement(till, **days_later(2), **PAYMENT)
    make_movement(make_watched(), **days_later(3))
    assert listed(shop) == named(left, paid, came)
    assert listed(shop, direction="out") == named(left)
    assert listed(shop, direction="in") == named(paid, came)
    assert listed(shop, tag="till") == named(paid_there, left)
    assert listed(shop, tag="till", direction="in") == named(paid_there)
    assert listed(shop, wallet=other.address) == named(came)
    assert listed(shop, token="USDT") == []
    for query in ({}, {"tag": "till"}, {"direction": "out"}, {"wallet": till.address}):
        body = shop.get("/reports/transactions", query).body
        assert body["total"] == len(body["data"])


def test_a_movement_tells_its_wallet_and_the_other_end(shop: ApiClient) -> None:
    wallet = watch(shop)
    left, came = make_movement(wallet, **OUT), make_movement(wallet, **days_later(-1))
    rows = shop.get("/reports/transactions").body["data"]
    for row, movement in zip(rows, (left, came), strict=True):
        assert row["wallet_id"] == wallet.public_id
        assert (row["checkout_id"], row["order_ref"]) == (None, None)
        assert row["direction"] == movement.direction
    ends = [(row["sender_address"], row["recipient_address"]) for row in rows]
    assert ends == [(wallet.address, left.counterparty), (came.counterparty, wallet.address)]


def test_a_movement_has_one_id_that_nobody_can_guess_wherever_it_is_listed(shop: ApiClient) -> None:
    wallet = watch(shop)
    left, came = make_movement(wallet, **OUT), make_movement(wallet, **days_later(-1))
    of_wallet = f"/wallets/{wallet.public_id}/transactions"
    for path in (of_wallet, "/reports/transactions"):
        rows = shop.get(path).body["data"]
        assert [row["id"] for row in rows] == named(left, came)
        rest = shop.get(path, {"starting_after": left.public_id}).body["data"]
        assert [row["id"] for row in rest] == named(came)
    for row_id in named(left, came):
        assert re.fullmatch(r"mov_[0-9a-f]{32}", row_id)


def test_a_report_is_narrowed_to_a_watched_wallet_by_its_id(shop: ApiClient) -> None:
    here, there = watch(shop), watch(shop)
    left, elsewhere = make_movement(here, **OUT), make_movement(there, **OUT)
    assert listed(shop, wallet=here.public_id) == named(left)
    assert listed(shop, wallet=there.public_id, chain=there.chain) == named(elsewhere)
    for query in ({"wallet": here.public_id, "chain": "ton"}, {"wallet": make_watched().public_id}):
        assert shop.get("/reports/transactions", query).refusal[2] == "wallet"


def test_pages_and_the_file_pass_over_nothing_where_moments_and_keys_are_the_same(
    shop: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shop.merchant is not None
    checkout, wallet = make_checkout(shop.merchant), watch(shop)
    keys = range(10**9, 10**9 + 4)
    for key in keys:
        make_transfer(checkout, pk=key)
        make_movement(wallet, pk=key)
    make_transfer(checkout, **days_later(-1))
    tied = [kind.objects.get(pk=key) for key in reversed(keys) for kind in (WatchedMovement, Transfer)]
    everything = named(*tied, *Transfer.objects.exclude(pk__in=keys))
    for size in (1, 2, 3, 5):
        found: list[str] = []
        query: dict[str, Any] = {"limit": size}
        while page := listed(shop, **query):
            found += page
            query["starting_after"] = page[-1]
            if len(page) < size:
                break
        assert found == everything
    monkeypatch.setattr(entries, "CHUNK_ROWS", 3)
    raw = shop.get("/reports/transactions", {"format": "csv"}).raw.decode()
    lines = list(csv.DictReader(io.StringIO(raw)))
    assert [line["id"] for line in lines] == everything
    assert lines[0]["wallet_id"] == wallet.public_id


def test_another_merchants_movement_is_no_place_to_start(shop: ApiClient) -> None:
    [theirs] = named(make_movement(make_watched()))
    answer = shop.get("/reports/transactions", {"starting_after": theirs})
    assert answer.refusal == (400, "parameter_invalid", "starting_after")


def test_what_pays_a_refund_names_it_and_what_it_gives_back(shop: ApiClient) -> None:
    checkout = make_paid(shop.merchant)
    refund = approved(refund_of(checkout, 5_000_000, address=BUYER).payout)
    outflow, other = outflow_for(refund), outflow_for(approved(make_payout(shop.merchant)))
    conclude_payout(refund, outflow, now=NOON)
    payout = Payout.objects.exclude(pk=refund.pk).get()
    conclude_payout(payout, other, now=NOON)
    rows = {row["id"]: row for row in shop.get("/reports/transactions").body["data"]}
    told = rows[outflow.public_id]
    assert (told["kind"], told["payout_id"], told["checkout_id"]) == ("refund", refund.public_id, checkout.public_id)
    assert (told["direction"], told["amount"], told["amount_refunded"]) == ("out", "5.000000", None)
    told = rows[other.public_id]
    assert (told["kind"], told["payout_id"], told["checkout_id"]) == ("payout", payout.public_id, None)
    came = rows[checkout.payments.get().transfer.public_id]
    assert (came["kind"], came["amount_refunded"], came["payout_id"]) == ("checkout", "5.000000", None)
