"""Wallets that payouts leave or reach: hidden ones, those of the list, and how long they are watched."""

from datetime import timedelta
from typing import Any

import pytest

from accounts.models import AuditEntry
from accounts.states import Mode
from gateway.core.api.errors import ConflictError, InvalidRequestError, NotFoundError
from reports.inputs import ReportFilter
from reports.selectors import all_movements
from reports.selectors import watched_wallets as reported_wallets
from tests.contract.client import client_of
from tests.factories import NOON, WALLET, make_merchant
from tests.wallets.days import make_movement
from wallets.models import WatchedWallet
from wallets.states import WatchPurpose, WatchStatus
from wallets.watched import service
from wallets.watched.selectors import watched_wallet, watched_wallets
from wallets.watched.service import expect_payouts, remove_watched_wallet, watch_recipient, watch_wallet

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)
PLACE: dict[str, Any] = {"mode": Mode.LIVE, "chain": "base", "address": WALLET}


def test_where_a_payout_goes_is_watched_without_a_place_on_the_list() -> None:
    merchant = make_merchant()
    wallet = watch_recipient(merchant, **PLACE, until=NOON + HOUR, now=NOON)
    wallet.refresh_from_db()
    assert (wallet.purpose, wallet.expected_until) == (WatchPurpose.PAYOUT, NOON + HOUR)
    # Whatever moved in a stranger's wallet before is nobody's business.
    assert wallet.status == WatchStatus.ACTIVE
    assert not watched_wallets(merchant, Mode.LIVE).exists()
    with pytest.raises(NotFoundError):
        watched_wallet(merchant.pk, Mode.LIVE, wallet.public_id)
    make_movement(wallet)
    report = ReportFilter(merchant.pk, Mode.LIVE)
    assert not all_movements(report).exists()
    assert not reported_wallets(report).exists()
    assert not AuditEntry.objects.exists()


def test_the_api_does_not_name_it() -> None:
    merchant = make_merchant()
    shop = client_of(merchant, Mode.LIVE)
    wallet = watch_recipient(merchant, **PLACE, until=NOON + HOUR, now=NOON)
    assert shop.get("/wallets").body["data"] == []
    for method, body in (("GET", None), ("PATCH", {"label": "x"}), ("DELETE", None)):
        answer = shop.send(method, f"/wallets/{wallet.public_id}", body)
        assert answer.refusal == (404, "resource_missing", "wallet_id")
    assert shop.get(f"/wallets/{wallet.public_id}/transactions").status == 404


def test_the_same_recipient_again_is_the_same_wallet_watched_longer() -> None:
    merchant = make_merchant()
    first = watch_recipient(merchant, **PLACE, until=NOON + 2 * HOUR, now=NOON)
    again = watch_recipient(merchant, **PLACE, until=NOON + HOUR, now=NOON)
    again.refresh_from_db()
    assert (again.pk, again.expected_until) == (first.pk, NOON + 2 * HOUR)


def test_a_merchant_who_adds_it_gets_it_with_its_history() -> None:
    merchant = make_merchant()
    hidden = watch_recipient(merchant, **PLACE, until=NOON + HOUR, now=NOON)
    wallet, is_new = watch_wallet(merchant, **PLACE, label="Ann", now=NOON + HOUR)
    assert (wallet.pk, is_new, wallet.label) == (hidden.pk, True, "Ann")
    wallet.refresh_from_db()
    assert (wallet.purpose, wallet.status) == (WatchPurpose.LIST, WatchStatus.IMPORTING)
    assert wallet.expected_until == NOON + HOUR
    assert watched_wallets(merchant, Mode.LIVE).get() == wallet


def test_one_of_the_list_stays_there_and_one_that_was_comes_back() -> None:
    """The rows of two would report its movements twice."""
    merchant = make_merchant()
    wallet, _ = watch_wallet(merchant, **PLACE, now=NOON)
    assert watch_recipient(merchant, **PLACE, until=NOON, now=NOON).pk == wallet.pk
    remove_watched_wallet(wallet, now=NOON)
    assert watch_recipient(merchant, **PLACE, until=NOON, now=NOON).pk == wallet.pk
    assert watched_wallets(merchant, Mode.LIVE).get().purpose == WatchPurpose.LIST


def test_the_list_has_room_whatever_is_watched_for_payouts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "MOST_WATCHED", 1)
    merchant = make_merchant()
    watch_recipient(merchant, **PLACE, until=NOON, now=NOON)
    watch_wallet(merchant, **PLACE | {"chain": "polygon"}, now=NOON)
    with pytest.raises(ConflictError):
        watch_wallet(merchant, **PLACE | {"chain": "ethereum"}, now=NOON)


def test_what_is_no_address_is_not_watched() -> None:
    with pytest.raises(InvalidRequestError):
        watch_recipient(make_merchant(), **PLACE | {"address": "0x12"}, until=NOON, now=NOON)
    assert not WatchedWallet.objects.exists()


def test_a_wallet_is_watched_while_payouts_may_leave_it() -> None:
    wallet, _ = watch_wallet(make_merchant(), **PLACE, now=NOON)
    expect_payouts([wallet.pk], until=NOON + HOUR)
    with pytest.raises(ConflictError, match="Payouts are being sent"):
        remove_watched_wallet(wallet, now=NOON)
    assert remove_watched_wallet(wallet, now=NOON + HOUR).removed_at == NOON + HOUR


def test_the_api_refuses_to_remove_a_paying_wallet() -> None:
    merchant = make_merchant()
    shop = client_of(merchant, Mode.LIVE)
    wallet, _ = watch_wallet(merchant, **PLACE, now=NOON)
    expect_payouts([wallet.pk], until=NOON + timedelta(days=36_500))
    assert shop.send("DELETE", f"/wallets/{wallet.public_id}", None).refusal[:2] == (409, "state_conflict")
    assert watched_wallets(merchant, Mode.LIVE).exists()
