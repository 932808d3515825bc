"""Pages in the order of blocks: nothing is shown twice or left out, in either direction."""

from datetime import timedelta
from typing import Any
from urllib.parse import parse_qsl

import pytest

from gateway.core.api.pagination import TimedRows, page_by_time
from tests.contract.client import ApiClient
from tests.factories import NOON
from tests.wallets.days import make_movement, make_watched
from tests.wallets.watched.test_api import PATH, listed
from tests.wallets.watched_wallets import watch
from wallets.models import WatchedMovement
from wallets.states import Direction, TransferState

pytestmark = pytest.mark.django_db


@pytest.fixture
def newest_first() -> list[int]:
    """Five movements in three blocks, recorded in another order than that of their blocks."""
    wallet = make_watched()
    made = [
        make_movement(wallet, block_time=NOON + timedelta(seconds=seconds, microseconds=7))
        for seconds in (2, 1, 2, 3, 2)
    ]
    ordered = sorted(made, key=lambda one: (one.block_time, one.pk), reverse=True)
    return [one.pk for one in ordered]


def walk(query: str, step: str) -> list[list[int]]:
    """The keys of each page, from one to the next in a direction."""
    pages = []
    while True:
        page = page_by_time([TimedRows(WatchedMovement.objects.all(), "block_time")], dict(parse_qsl(query)), rows=2)
        pages.append([row.pk for row in page.rows])
        if not (query := getattr(page, step)):
            return pages


def test_older_pages_follow_each_other_to_the_end(newest_first: list[int]) -> None:
    pages = walk("", "older")
    assert pages == [newest_first[:2], newest_first[2:4], newest_first[4:]]


def test_newer_pages_lead_back_to_the_beginning(newest_first: list[int]) -> None:
    second = page_by_time([TimedRows(WatchedMovement.objects.all(), "block_time")], {}, rows=2).older
    third = page_by_time(
        [TimedRows(WatchedMovement.objects.all(), "block_time")], dict(parse_qsl(second)), rows=2
    ).older
    assert walk(third, "newer") == [newest_first[4:], newest_first[2:4], newest_first[:2]]


@pytest.mark.parametrize("mark", ["", "7", "7-", "-7-7", "1e3-7", "7-7\n", "9" * 18 + "-1"])
def test_what_is_no_place_is_the_first_page(newest_first: list[int], mark: str) -> None:
    page = page_by_time([TimedRows(WatchedMovement.objects.all(), "block_time")], {"before": mark}, rows=2)
    assert [row.pk for row in page.rows] == newest_first[:2]


def test_what_else_was_asked_for_stays_in_the_links(newest_first: list[int]) -> None:
    page = page_by_time([TimedRows(WatchedMovement.objects.all(), "block_time")], {"token": "USDC"}, rows=2)
    assert dict(parse_qsl(page.older))["token"] == "USDC"
    assert page.newer == ""


def test_movements_are_narrowed_and_paged_newest_block_first(shop: ApiClient) -> None:
    assert shop.merchant is not None
    wallet, other = watch(shop.merchant), watch(shop.merchant)
    make_movement(other)
    day = timedelta(days=1)
    oldest = make_movement(wallet, block_time=NOON - day, token="USDT")
    newest = make_movement(wallet, block_time=NOON + day, direction=Direction.OUT)
    # Of one block: only their keys tell them apart.
    tied = [make_movement(wallet) for _ in range(3)]
    lost = make_movement(wallet, state=TransferState.ORPHANED)
    path = f"{PATH}/{wallet.public_id}/transactions"
    rows = [newest, lost, *reversed(tied), oldest]
    ids = [row.public_id for row in rows]
    assert listed(shop, path) == ids
    assert listed(shop, path, direction="out") == ids[:1]
    assert listed(shop, path, token="USDT") == ids[-1:]
    assert listed(shop, path, since="2026-11-20", to="2026-11-21") == ids[1:-1]
    for narrowed, total in (({}, 6), ({"direction": "in"}, 5), ({"token": "USDT"}, 1), ({"to": "2026-11-21"}, 5)):
        assert shop.get(path, narrowed).body["total"] == total
    found: list[str] = []
    query: dict[str, Any] = {"limit": 2}
    while page := listed(shop, path, **query):
        found += page
        query["starting_after"] = page[-1]
    assert found == ids
