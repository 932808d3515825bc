"""The chart of what a watched wallet held."""

from datetime import UTC, timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.states import Mode
from gateway.core.api.pagination import PAGE_ROWS
from tests.dashboard.people import Desk
from tests.factories import NOON, make_merchant
from tests.wallets.dashboard.watched.test_pages_wallet_list import NEW, opened
from tests.wallets.days import make_movement
from tests.wallets.watched_wallets import finish, hold, import_through, watch
from wallets.models import WatchedWallet
from wallets.states import Direction, TransferState

pytestmark = pytest.mark.django_db


def test_the_chart_ends_with_what_is_held_and_goes_back_by_what_moved(owner_by_factor: Desk) -> None:
    now, day = timezone.now(), timedelta(days=1)
    wallet = watch(owner_by_factor.merchant, chain="polygon", now=now - 3 * day)
    make_movement(wallet, 4_000_000, block_time=now)
    out = {"direction": Direction.OUT, "block_time": now - 2 * day}
    make_movement(wallet, 1_000_000, **out)
    make_movement(wallet, 9_000_000, state=TransferState.ORPHANED, block_time=now)
    hold(wallet, 10_000_000, read_at=now)
    hold(wallet, 0, token="USDT", read_at=now)
    chart = opened(owner_by_factor, wallet).context["chart"]
    assert [line.token for line in chart.lines] == ["USDC", "USDT"]
    held = [[int(amount) for _, amount in day.held] for day in chart.days]
    assert held == [[7, 0], [6, 0], [6, 0], [10, 0]]
    assert chart.until == now.astimezone(UTC).date()
    # A step for each day, as high as what is held of the most that ever was, under an edge of 40.
    assert chart.lines[0].path == "M0 328V328h10V424h10V424h10V40h10"
    assert chart.lines[1].area == "M0 1000V1000h10V1000h10V1000h10V1000h10V1000z"


def test_a_wallet_that_nobody_read_has_no_chart(owner_by_factor: Desk) -> None:
    page = opened(owner_by_factor, watch(owner_by_factor.merchant))
    assert page.context["chart"] is None
    assert page.context["row"].balances == (("USDC", ""),)


def hashes(page: Any) -> list[str]:
    """The movements on a wallet's page, in its order."""
    return [line.tx_hash for line in page.context["movements"]]


def test_every_page_of_a_wallet_is_nobody_elses(owner_by_factor: Desk) -> None:
    theirs = watch(make_merchant())
    tested = watch(owner_by_factor.merchant, mode=Mode.TEST)
    names = ("wallet", "wallet_live", "wallet_csv")
    pages = [f"dashboard_watched_{name}" for name in names]
    for wallet_id in (theirs.public_id, tested.public_id, "\x00"):
        for name in (*pages, "dashboard_edit_watched_wallet"):
            assert owner_by_factor.get(name, wallet_id=wallet_id).status_code == 404
        for name in ("dashboard_edit_watched_wallet", "dashboard_unwatch_wallet"):
            assert owner_by_factor.post(name, NEW, wallet_id=wallet_id).status_code == 404
    live = owner_by_factor.get("dashboard_watched_wallets_live", f"?id={theirs.public_id}&id=%00")
    assert live.context["rows"] == []
    assert not WatchedWallet.objects.exclude(removed_at=None).exists()


def test_movements_are_narrowed_and_paged(owner_by_factor: Desk) -> None:
    wallet = watch(owner_by_factor.merchant)
    out = make_movement(wallet, direction=Direction.OUT, block_time=NOON)
    tether = make_movement(wallet, token="USDT", block_time=NOON - timedelta(days=1))
    # Of one block: only their keys tell them apart.
    tied = [make_movement(wallet) for _ in range(PAGE_ROWS)]
    make_movement(watch(owner_by_factor.merchant))
    first = opened(owner_by_factor, wallet, "?days=90")
    assert hashes(first) == [row.tx_hash for row in reversed(tied)]
    second = opened(owner_by_factor, wallet, f"?{first.context['pager'].older}")
    assert hashes(second) == [out.tx_hash, tether.tx_hash]
    assert second.context["days"] == 90
    back = opened(owner_by_factor, wallet, f"?{second.context['pager'].newer}")
    assert hashes(back) == hashes(first)
    assert hashes(opened(owner_by_factor, wallet, "?direction=out")) == [out.tx_hash]
    assert hashes(opened(owner_by_factor, wallet, "?token=USDT")) == [tether.tx_hash]
    assert len(hashes(opened(owner_by_factor, wallet, "?direction=x&token=%00&days=1"))) == 25


def test_the_page_asks_again_until_all_history_is_read(owner_by_factor: Desk) -> None:
    wallet = watch(owner_by_factor.merchant)
    import_through(wallet, 41)
    page = opened(owner_by_factor, wallet)
    assert "hx-get" in page.text
    ask = {"wallet_id": wallet.public_id}
    seen = f"?seen={page.context['digest']}"
    same = owner_by_factor.get("dashboard_watched_wallet_live", seen, **ask)
    assert (same.status_code, same.content) == (204, b"")
    make_movement(wallet)
    news = owner_by_factor.get("dashboard_watched_wallet_live", seen, **ask)
    assert "1 movement found so far" in news.text
    finish(wallet)
    done = owner_by_factor.get("dashboard_watched_wallet_live", seen, **ask)
    assert done["HX-Refresh"] == "true"
    assert "hx-get" not in opened(owner_by_factor, wallet).text


def test_a_viewer_saves_the_file_too_and_no_cell_of_it_runs(viewer: Desk) -> None:
    wallet = watch(viewer.merchant)
    movement = make_movement(wallet, 1_500_000, counterparty="=1+1")
    make_movement(wallet, direction=Direction.OUT)
    make_movement(watch(viewer.merchant))
    answer = viewer.get("dashboard_watched_wallet_csv", "?direction=in", wallet_id=wallet.public_id)
    header, line = answer.getvalue().decode("utf-8-sig").splitlines()
    assert header.startswith("id,direction,block_time,chain,token,amount")
    assert line == (
        f"{movement.public_id},in,2026-11-20T12:01:00.000000Z,base,USDC,1.500000,"
        f"{movement.tx_hash},0,'=1+1,confirmed,2026-11-20T12:00:00.000000Z"
    )
