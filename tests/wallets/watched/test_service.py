"""Adding, changing and giving up watched wallets."""

from typing import Any

import pytest

from accounts.audit.actors import Actor
from accounts.models import AuditEntry, Merchant
from accounts.states import Mode
from gateway.core.api.errors import ConflictError, InvalidRequestError
from tests.factories import NOON, WALLET, make_merchant, make_user
from wallets.models import WatchedBalance, WatchedWallet
from wallets.states import WatchStatus
from wallets.watched import service
from wallets.watched.selectors import balances_of, history_progress, watched_wallets
from wallets.watched.service import change_watched_wallet, remove_watched_wallet, watch_wallet

pytestmark = pytest.mark.django_db


def watch(merchant: Merchant, **values: Any) -> WatchedWallet:
    """Have a wallet watched, on Base and live unless told otherwise."""
    given: dict[str, Any] = {"mode": Mode.LIVE, "chain": "base", "address": WALLET}
    wallet, _ = watch_wallet(merchant, now=NOON, **(given | values))
    return wallet


def acts() -> list[str]:
    """What the audit log tells, in order."""
    return list(AuditEntry.objects.order_by("pk").values_list("action", flat=True))


def test_an_address_is_kept_in_canonical_form_and_watched_once() -> None:
    merchant, other = make_merchant(), make_merchant()
    wallet = watch(merchant, address=WALLET.lower(), label=" Till ", tags=["till"])
    again, is_new = watch_wallet(merchant, mode=Mode.LIVE, chain="base", address=WALLET, now=NOON)
    assert (wallet.address, wallet.label, wallet.tags) == (WALLET, "Till", ["till"])
    assert (again.pk, is_new) == (wallet.pk, False)
    assert watch(other).pk != wallet.pk
    assert watch(merchant, chain="polygon").pk != wallet.pk
    assert acts() == ["watched_wallet.added"] * 3


def test_in_test_mode_a_wallet_is_active_at_once_and_holds_nothing() -> None:
    wallet = watch(make_merchant(), mode=Mode.TEST, chain="polygon")
    held = balances_of([wallet])[wallet.pk]
    assert (wallet.status, history_progress(wallet)) == (WatchStatus.ACTIVE, None)
    assert {token: row.units for token, row in held.items()} == {"USDC": 0, "USDT": 0}


def test_a_live_wallet_waits_for_its_history_and_balances() -> None:
    wallet = watch(make_merchant())
    assert (wallet.status, history_progress(wallet)) == (WatchStatus.IMPORTING, 0)
    assert balances_of([wallet]) == {wallet.pk: {}}


def test_no_history_is_read_where_the_setting_says_none(settings: Any) -> None:
    settings.WALLET_HISTORY_DAYS = 0
    wallet = watch(make_merchant())
    assert (wallet.status, WatchedBalance.objects.count()) == (WatchStatus.ACTIVE, 0)


@pytest.mark.parametrize(
    ("values", "code"),
    [
        pytest.param({"chain": "dogecoin"}, "chain_unsupported", id="chain"),
        pytest.param({"address": "0x12"}, "address_invalid", id="address"),
        pytest.param({"chain": "tron"}, "address_invalid", id="another chain's"),
        pytest.param({"label": "x" * 81}, "parameter_invalid", id="label"),
        pytest.param({"tags": ["x" * 41]}, "parameter_invalid", id="long tag"),
        pytest.param({"tags": map(str, range(21))}, "parameter_invalid", id="many"),
    ],
)
def test_what_cannot_be_watched_is_refused(values: dict[str, Any], code: str) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        watch(make_merchant(), **values)
    assert refused.value.code == code
    assert (WatchedWallet.objects.count(), acts()) == (0, [])


def test_any_valid_address_may_be_watched_even_one_that_would_swallow_money() -> None:
    usdc = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
    assert watch(make_merchant(), address=usdc).address == usdc


def test_tags_are_trimmed_and_taken_once_whatever_their_case() -> None:
    wallet = watch(make_merchant(), tags=[" Till ", "till", "", "Cold\tstore"])
    assert wallet.tags == ["Till", "Cold store"]


def test_there_is_a_limit_in_each_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "MOST_WATCHED", 1)
    merchant = make_merchant()
    first = watch(merchant)
    with pytest.raises(ConflictError) as refused:
        watch(merchant, chain="polygon")
    assert refused.value.code == "capacity_exhausted"
    assert watch(merchant, mode=Mode.TEST).pk
    remove_watched_wallet(first, now=NOON)
    assert watch(merchant, chain="polygon").pk


def test_a_change_is_audited_with_what_was_before_and_none_where_nothing_changes() -> None:
    wallet, owner = watch(make_merchant(), label="Till"), make_user()
    change_watched_wallet(wallet, label="Till ", now=NOON)
    changed = change_watched_wallet(wallet, label="Shop", actor=Actor(owner), now=NOON)
    entry = AuditEntry.objects.order_by("pk").last()
    assert entry is not None
    assert (changed.label, entry.actor, entry.action) == ("Shop", owner, "watched_wallet.changed")
    assert (entry.before, entry.after) == ({"label": "Till", "tags": []}, {"label": "Shop", "tags": []})
    assert len(acts()) == 2


def test_what_is_given_up_can_neither_be_changed_nor_given_up_again() -> None:
    merchant = make_merchant()
    wallet = watch(merchant)
    remove_watched_wallet(wallet, actor=Actor(label="key"), now=NOON)
    assert not watched_wallets(merchant, Mode.LIVE).exists()
    for act in (change_watched_wallet, remove_watched_wallet):
        with pytest.raises(ConflictError):
            act(wallet, now=NOON)
    watch(merchant)
    assert acts()[-2:] == ["watched_wallet.removed", "watched_wallet.added"]


def test_a_wallet_that_comes_back_is_the_same_one_and_begins_anew() -> None:
    """Else its history would be read into a second one, and reports would have all that moved twice."""
    merchant = make_merchant()
    wallet = watch(merchant, label="Till", tags=["till"])
    WatchedWallet.objects.update(status=WatchStatus.ACTIVE, history_height=9, history_until=9, history_from=1)
    WatchedBalance.objects.create(wallet=wallet, token="USDC", units=7, height=9, read_at=NOON)
    remove_watched_wallet(wallet, now=NOON)
    again, is_new = watch_wallet(merchant, mode=Mode.LIVE, chain="base", address=WALLET, now=NOON, label="Safe")
    assert (again.pk, is_new, again.removed_at) == (wallet.pk, True, None)
    assert (again.label, again.tags) == ("Safe", [])
    assert (again.status, again.history_until) == (WatchStatus.IMPORTING, None)
    assert balances_of([again]) == {again.pk: {}}
    assert watch(make_merchant()).pk != again.pk
