"""The pages of watched wallets: whose, who may change them, what they show, and the file."""

from typing import Any

import pytest

from accounts.states import Mode
from tests.dashboard.people import Desk, make_desk
from tests.factories import WALLET, make_merchant
from tests.wallets.watched_wallets import finish, hold, import_through, watch
from wallets.models import WatchedWallet

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


def test_the_list_has_the_merchants_own_of_the_mode_newest_first(owner_by_factor: Desk, stranger: Desk) -> None:
    older, newer = watch(owner_by_factor.merchant), watch(owner_by_factor.merchant)
    watch(owner_by_factor.merchant, mode=Mode.TEST)
    watch(make_merchant())
    assert shown(owner_by_factor) == [newer.public_id, older.public_id]
    assert stranger.get("dashboard_watched_wallets").status_code == 404


def test_the_list_is_narrowed_by_network_and_tag(owner_by_factor: Desk) -> None:
    one = watch(owner_by_factor.merchant, tags=["eu", "a&b"])
    two = watch(owner_by_factor.merchant, chain="polygon", tags=["eu"])
    assert shown(owner_by_factor, "?chain=polygon") == [two.public_id]
    assert shown(owner_by_factor, "?tag=a%26b") == [one.public_id]
    assert shown(owner_by_factor, "?tag=eu&chain=base") == [one.public_id]
    assert len(shown(owner_by_factor, "?chain=x&before=y")) == 2
    page = owner_by_factor.get("dashboard_watched_wallets")
    assert page.context["tags"] == ["a&b", "eu"]
    assert "?tag=a%26b" in page.text
    assert "No wallets match" in owner_by_factor.get("dashboard_watched_wallets", "?tag=x").text


def test_empty_pages_explain_themselves(owner_by_factor: Desk, viewer: Desk) -> None:
    assert "Add an address" in owner_by_factor.get("dashboard_watched_wallets").text
    assert "Owners and admins can add" in viewer.get("dashboard_watched_wallets").text
    assert "No movements yet" in opened(owner_by_factor, watch(owner_by_factor.merchant)).text
    tester = make_desk(owner_by_factor.merchant, mode=Mode.TEST)
    assert "reads no network" in tester.get("dashboard_watched_wallets").text


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


def test_the_list_asks_again_for_those_whose_history_is_being_read(owner_by_factor: Desk) -> None:
    done, reading = watch(owner_by_factor.merchant), watch(owner_by_factor.merchant, label="Payroll")
    import_through(reading, 62)
    page = owner_by_factor.get("dashboard_watched_wallets")
    query = page.context["importing"]
    assert query == f"id={reading.public_id}"
    assert done.public_id in page.text
    live = owner_by_factor.get("dashboard_watched_wallets_live", f"?{query}")
    assert 'value="62"' in live.text
    finish(reading)
    live = owner_by_factor.get("dashboard_watched_wallets_live", f"?{query}")
    assert "hx-get" not in live.text
    assert "All history is read of Payroll" in live.text


def test_a_page_takes_the_same_questions_however_many_wallets_there_are(
    owner_by_factor: Desk, django_assert_max_num_queries: Any
) -> None:
    for _ in range(10):
        hold(watch(owner_by_factor.merchant), 1)
    shown(owner_by_factor)
    with django_assert_max_num_queries(10):
        shown(owner_by_factor)
