"""The pages of watched wallets: whose, who may change them, what they show, and the file."""

from datetime import UTC, timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import AuditEntry
from accounts.states import Mode
from gateway.core.api.keyset import PAGE_ROWS
from tests.dashboard.people import Desk, make_desk
from tests.factories import NOON, WALLET, make_merchant
from tests.wallets.days import make_movement
from tests.wallets.watched_wallets import (
    finish,
    hold,
    import_through,
    watch,
)
from wallets.models import WatchedMovement, WatchedWallet
from wallets.states import Direction, TransferState

pytestmark = pytest.mark.django_db

NEW = {"chain": "base", "address": WALLET.lower(), "label": "Payroll", "tags": "eu"}


def shown(desk: Desk, query: str = "") -> list[str]:
    """The wallets on a page of the list, in its order."""
    page = desk.get("dashboard_watched_wallets", query)
    assert page.status_code == 200
    return [row.id for row in page.context["rows"]]


def opened(desk: Desk, wallet: WatchedWallet, query: str = "") -> Any:
    """The page of a wallet."""
    return desk.get("dashboard_watched_wallet", query, wallet_id=wallet.public_id)


def hashes(page: Any) -> list[str]:
    """The movements on a wallet's page, in its order."""
    return [line.tx_hash for line in page.context["movements"]]


def test_the_list_has_the_merchants_own_of_the_mode_newest_first(
    owner: Desk, stranger: Desk
) -> None:
    older, newer = watch(owner.merchant), watch(owner.merchant)
    watch(owner.merchant, mode=Mode.TEST)
    watch(make_merchant())
    assert shown(owner) == [newer.public_id, older.public_id]
    assert stranger.get("dashboard_watched_wallets").status_code == 404


def test_every_page_of_a_wallet_is_nobody_elses(owner: Desk) -> None:
    theirs = watch(make_merchant())
    tested = watch(owner.merchant, mode=Mode.TEST)
    names = ("wallet", "wallet_live", "wallet_csv")
    pages = [f"dashboard_watched_{name}" for name in names]
    for wallet_id in (theirs.public_id, tested.public_id, "\x00"):
        for name in (*pages, "dashboard_edit_watched_wallet"):
            assert owner.get(name, wallet_id=wallet_id).status_code == 404
        for name in ("dashboard_edit_watched_wallet", "dashboard_unwatch_wallet"):
            assert owner.post(name, NEW, wallet_id=wallet_id).status_code == 404
    live = owner.get("dashboard_watched_wallets_live", f"?id={theirs.public_id}&id=%00")
    assert live.context["rows"] == []
    assert not WatchedWallet.objects.exclude(removed_at=None).exists()


def test_the_list_is_narrowed_by_network_and_tag(owner: Desk) -> None:
    one = watch(owner.merchant, tags=["eu", "a&b"])
    two = watch(owner.merchant, chain="polygon", tags=["eu"])
    assert shown(owner, "?chain=polygon") == [two.public_id]
    assert shown(owner, "?tag=a%26b") == [one.public_id]
    assert shown(owner, "?tag=eu&chain=base") == [one.public_id]
    assert len(shown(owner, "?chain=x&before=y")) == 2
    page = owner.get("dashboard_watched_wallets")
    assert [tag for tag, _ in page.context["tags"]] == ["a&b", "eu"]
    assert "?tag=a%26b" in page.text
    assert "No wallets match" in owner.get("dashboard_watched_wallets", "?tag=x").text


def test_empty_pages_explain_themselves(owner: Desk, viewer: Desk) -> None:
    assert "Name an address" in owner.get("dashboard_watched_wallets").text
    assert "An owner or admin" in viewer.get("dashboard_watched_wallets").text
    assert "Nothing moved yet" in opened(owner, watch(owner.merchant)).text
    tester = make_desk(owner.merchant, mode=Mode.TEST)
    assert "reads no network" in tester.get("dashboard_watched_wallets").text


def test_an_admin_has_a_wallet_watched(admin: Desk) -> None:
    answer = admin.post("dashboard_watch_wallet", NEW | {"tags": "eu, payroll\nEU"})
    wallet = WatchedWallet.objects.get()
    page = admin.client.get(answer["Location"])
    assert page.context["row"].id == wallet.public_id
    assert (wallet.address, wallet.label) == (WALLET, "Payroll")
    assert (wallet.tags, wallet.mode) == (["eu", "payroll"], Mode.LIVE)
    again = admin.post("dashboard_watch_wallet", NEW | {"label": "Other"})
    assert again["Location"] == answer["Location"]
    assert "watched already" in admin.client.get(again["Location"]).text
    entry = AuditEntry.objects.get(action="watched_wallet.added")
    assert (entry.actor, entry.address) == (admin.user, "127.0.0.1")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"address": WALLET[:-1]}, "The address must be 0x and 40"),
        ({"address": ""}, "This field is required"),
        ({"chain": "bitcoin"}, "Select a valid choice"),
        ({"label": "x" * 81}, "at most 80"),
        ({"tags": "x" * 41}, "40 characters at most"),
        ({"tags": ",".join(f"t{n}" for n in range(21))}, "20 tags at most"),
    ],
)
def test_what_cannot_be_watched_is_said_beside_the_field(
    owner: Desk, fields: dict[str, str], words: str
) -> None:
    answer = owner.post("dashboard_watch_wallet", NEW | fields)
    assert answer.status_code == 422
    assert words in answer.text
    assert not WatchedWallet.objects.exists()


def test_a_label_and_tags_are_changed(owner: Desk) -> None:
    wallet = watch(owner.merchant, label="Payroll", tags=["eu", "us"])
    form = owner.get("dashboard_edit_watched_wallet", wallet_id=wallet.public_id)
    assert "eu\nus" in form.text
    changed = {"label": " Wages ", "tags": "us"}
    owner.post("dashboard_edit_watched_wallet", changed, wallet_id=wallet.public_id)
    wallet.refresh_from_db()
    assert (wallet.label, wallet.tags) == ("Wages", ["us"])
    assert AuditEntry.objects.get(action="watched_wallet.changed").actor == owner.user


def test_a_wallet_is_given_up_and_its_movements_stay(owner: Desk) -> None:
    wallet = watch(owner.merchant)
    make_movement(wallet)
    owner.post("dashboard_unwatch_wallet", wallet_id=wallet.public_id)
    assert shown(owner) == []
    assert opened(owner, wallet).status_code == 404
    assert WatchedMovement.objects.count() == 1
    assert AuditEntry.objects.get(action="watched_wallet.removed").actor == owner.user


def test_a_viewer_sees_everything_and_changes_nothing(viewer: Desk) -> None:
    wallet = watch(viewer.merchant, label="Payroll")
    page = opened(viewer, wallet)
    assert page.status_code == 200
    assert "Stop watching" not in page.text
    assert viewer.get("dashboard_watch_wallet").status_code == 403
    assert viewer.post("dashboard_watch_wallet", NEW).status_code == 403
    for name in ("dashboard_edit_watched_wallet", "dashboard_unwatch_wallet"):
        assert viewer.post(name, NEW, wallet_id=wallet.public_id).status_code == 403
    wallet.refresh_from_db()
    assert (wallet.label, wallet.removed_at) == ("Payroll", None)


def test_labels_and_tags_are_words_and_never_markup(owner: Desk) -> None:
    evil = "<script>alert(1)</script>"
    wallet = watch(owner.merchant, label=evil, tags=['"><img src=x>'])
    for page in (
        owner.get("dashboard_watched_wallets"),
        opened(owner, wallet),
        owner.get("dashboard_edit_watched_wallet", wallet_id=wallet.public_id),
    ):
        assert "<script>alert" not in page.text
        assert "<img src=x" not in page.text


def test_movements_are_narrowed_and_paged(owner: Desk) -> None:
    wallet = watch(owner.merchant)
    out = make_movement(wallet, direction=Direction.OUT, block_time=NOON)
    tether = make_movement(wallet, token="USDT", block_time=NOON - timedelta(days=1))
    # Of one block: only their keys tell them apart.
    tied = [make_movement(wallet) for _ in range(PAGE_ROWS)]
    make_movement(watch(owner.merchant))
    first = opened(owner, wallet, "?days=90")
    assert hashes(first) == [row.tx_hash for row in reversed(tied)]
    second = opened(owner, wallet, f"?{first.context['pager'].older}")
    assert hashes(second) == [out.tx_hash, tether.tx_hash]
    assert second.context["days"] == 90
    back = opened(owner, wallet, f"?{second.context['pager'].newer}")
    assert hashes(back) == hashes(first)
    assert hashes(opened(owner, wallet, "?direction=out")) == [out.tx_hash]
    assert hashes(opened(owner, wallet, "?token=USDT")) == [tether.tx_hash]
    assert len(hashes(opened(owner, wallet, "?direction=x&token=%00&days=1"))) == 25


def test_the_chart_ends_with_what_is_held_and_goes_back_by_what_moved(
    owner: Desk,
) -> None:
    now, day = timezone.now(), timedelta(days=1)
    wallet = watch(owner.merchant, chain="polygon", now=now - 3 * day)
    make_movement(wallet, 4_000_000, block_time=now)
    out = {"direction": Direction.OUT, "block_time": now - 2 * day}
    make_movement(wallet, 1_000_000, **out)
    make_movement(wallet, 9_000_000, state=TransferState.ORPHANED, block_time=now)
    hold(wallet, 10_000_000, read_at=now)
    hold(wallet, 0, token="USDT", read_at=now)
    chart = opened(owner, wallet).context["chart"]
    assert [line.token for line in chart.lines] == ["USDC", "USDT"]
    held = [[int(amount) for _, amount in day.held] for day in chart.days]
    assert held == [[7, 0], [6, 0], [6, 0], [10, 0]]
    assert chart.until == now.astimezone(UTC).date()
    # A step for each day, as high as what is held of the most that ever was, under an edge of 40.
    assert chart.lines[0].path == "M0 328V328h10V424h10V424h10V40h10"
    assert chart.lines[1].area == "M0 1000V1000h10V1000h10V1000h10V1000h10V1000z"


def test_what_is_held_is_written_with_all_its_decimals(owner: Desk) -> None:
    now = timezone.now()
    wallet = watch(owner.merchant, chain="polygon", now=now)
    hold(wallet, 1_250_004_500, read_at=now)
    page = opened(owner, wallet).text
    assert "at most 1,250.0045<" in page
    assert ": 1,250.0045 USDC<" in page
    assert '<b class="number">1,250.0045</b>' in page
    assert "1,250.0045 USDC now." in page
    assert '<td class="table__end number">1,250.0045</td>' in page
    report = owner.get("dashboard_reports").text
    assert '<td class="table__amount number">1,250.0045</td>' in report


def test_a_wallet_that_nobody_read_has_no_chart(owner: Desk) -> None:
    page = opened(owner, watch(owner.merchant))
    assert page.context["chart"] is None
    assert page.context["row"].balances == (("USDC", ""),)


def test_the_page_asks_again_until_all_history_is_read(owner: Desk) -> None:
    wallet = watch(owner.merchant)
    import_through(wallet, 41)
    page = opened(owner, wallet)
    assert "hx-get" in page.text
    ask = {"wallet_id": wallet.public_id}
    seen = f"?seen={page.context['digest']}"
    same = owner.get("dashboard_watched_wallet_live", seen, **ask)
    assert (same.status_code, same.content) == (204, b"")
    make_movement(wallet)
    news = owner.get("dashboard_watched_wallet_live", seen, **ask)
    assert "1 movement found so far" in news.text
    finish(wallet)
    done = owner.get("dashboard_watched_wallet_live", seen, **ask)
    assert done["HX-Refresh"] == "true"
    assert "hx-get" not in opened(owner, wallet).text


def test_the_list_asks_again_for_those_whose_history_is_being_read(
    owner: Desk,
) -> None:
    done, reading = watch(owner.merchant), watch(owner.merchant, label="Payroll")
    import_through(reading, 62)
    page = owner.get("dashboard_watched_wallets")
    query = page.context["importing"]
    assert query == f"id={reading.public_id}"
    assert done.public_id in page.text
    live = owner.get("dashboard_watched_wallets_live", f"?{query}")
    assert 'value="62"' in live.text
    finish(reading)
    live = owner.get("dashboard_watched_wallets_live", f"?{query}")
    assert "hx-get" not in live.text
    assert "All history is read of Payroll" in live.text


def test_a_viewer_saves_the_file_too_and_no_cell_of_it_runs(viewer: Desk) -> None:
    wallet = watch(viewer.merchant)
    movement = make_movement(wallet, 1_500_000, counterparty="=1+1")
    make_movement(wallet, direction=Direction.OUT)
    make_movement(watch(viewer.merchant))
    answer = viewer.get(
        "dashboard_watched_wallet_csv", "?direction=in", wallet_id=wallet.public_id
    )
    header, line = answer.getvalue().decode().splitlines()
    assert header.startswith("id,direction,block_time,chain,token,amount")
    assert line == (
        f"{movement.public_id},in,2026-11-20T12:01:00.000000Z,base,USDC,1.500000,"
        f"{movement.tx_hash},0,'=1+1,confirmed,2026-11-20T12:00:00.000000Z"
    )


def test_a_page_takes_the_same_questions_however_many_wallets_there_are(
    owner: Desk, django_assert_max_num_queries: Any
) -> None:
    for _ in range(10):
        hold(watch(owner.merchant), 1)
    shown(owner)
    with django_assert_max_num_queries(10):
        shown(owner)
