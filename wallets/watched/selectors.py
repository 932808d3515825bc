"""Queries of watched wallets: one by id, a page, their tags, progress of the history, and balances."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Final

from django.conf import settings
from django.db import connection
from django.db.models import QuerySet

from accounts.models import Merchant
from accounts.states import Mode
from gateway.core.api.errors import InvalidRequestError, NotFoundError
from gateway.core.api.pagination import Page
from wallets.models import WatchedBalance, WatchedWallet
from wallets.states import WatchPurpose, WatchStatus

# More than people scroll through; further tags are still found by typing.
MOST_TAGS_OFFERED: Final = 200

# Blocks carry their own times, slightly before or after our clock.
_CLOCKS_DIFFER: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class WalletFilter:
    """The filters of a list of watched wallets; empty texts exclude nothing."""

    merchant_id: int
    mode: Mode
    chain: str = ""
    tag: str = ""


def wallets_wanted(wanted: WalletFilter) -> QuerySet[WatchedWallet]:
    """Return the currently watched wallets that match a filter."""
    found = _all_of(wanted.merchant_id, wanted.mode).filter(removed_at=None)
    if wanted.chain:
        found = found.filter(chain=wanted.chain)
    return found.filter(tags__contains=[wanted.tag]) if wanted.tag else found


def watched_wallet(merchant_id: int, mode: Mode, public_id: str) -> WatchedWallet:
    """Return one wallet. Raises NotFoundError, also for another merchant's, the other mode's, and a removed one."""
    # PostgreSQL would refuse a statement with a NUL in it.
    rows = _all_of(merchant_id, mode).filter(removed_at=None)
    named = rows.filter(public_id=public_id).select_related("merchant")
    found = None if "\x00" in public_id else named.first()
    if found is None:
        raise NotFoundError("There is no such wallet here.", param="wallet_id")
    return found


def wallet_page(wanted: WalletFilter, page: Page) -> list[WatchedWallet]:
    """Return a page of wallets, newest first. Raises InvalidRequestError for an unknown starting_after."""
    found, offset = wallets_wanted(wanted), page.offset
    if page.starting_after is not None:
        # A wallet removed meanwhile still marks a position in the list.
        rows = _all_of(wanted.merchant_id, wanted.mode)
        seen = rows.filter(public_id=page.starting_after)
        key = seen.values_list("pk", flat=True).first()
        if key is None:
            raise InvalidRequestError("starting_after names no wallet of yours.", param="starting_after")
        found, offset = found.filter(pk__lt=key), 0
    return list(found.order_by("-pk")[offset : offset + page.limit])


_TAGS = """
    SELECT tag FROM wallets_watchedwallet, unnest(tags) AS tag
    WHERE merchant_id = %s AND mode = %s AND removed_at IS NULL
    GROUP BY tag ORDER BY lower(tag), tag LIMIT %s
"""


def tags_of(merchant_id: int, mode: Mode) -> list[str]:
    """Return the tags of a merchant's watched wallets, sorted."""
    with connection.cursor() as cursor:
        cursor.execute(_TAGS, [merchant_id, mode, MOST_TAGS_OFFERED])
        return [tag for (tag,) in cursor]


def _all_of(merchant_id: int, mode: Mode) -> QuerySet[WatchedWallet]:
    return WatchedWallet.objects.filter(merchant=merchant_id, mode=mode, purpose=WatchPurpose.LIST)


def watched_wallets(merchant: Merchant, mode: Mode) -> QuerySet[WatchedWallet]:
    """Return a merchant's currently watched wallets."""
    return _all_of(merchant.pk, mode).filter(removed_at=None)


def history_progress(wallet: WatchedWallet) -> int | None:
    """Return the progress of a wallet's history in percent; None once it is complete."""
    if wallet.status == WatchStatus.ACTIVE:
        return None
    first, last = wallet.history_from, wallet.history_until
    if first is None or last is None or wallet.history_height is None:
        return 0
    read, blocks = wallet.history_height - first + 1, max(last - first + 1, 1)
    return min(max(read * 100 // blocks, 0), 99)


def history_since(wallet: WatchedWallet) -> datetime:
    """Return from when on a wallet's movements are known, or will be once its history is read."""
    if wallet.history_from is None and history_progress(wallet) is None:
        return wallet.created_at
    return wallet.created_at - timedelta(days=settings.WALLET_HISTORY_DAYS)


def balances_of(wallets: Iterable[WatchedWallet]) -> dict[int, dict[str, WatchedBalance]]:
    """Return the last read balances by wallet (primary key) and token; empty before the first reading."""
    found: dict[int, dict[str, WatchedBalance]] = {wallet.pk: {} for wallet in wallets}
    rows = WatchedBalance.objects.filter(wallet__in=found).order_by("token")
    for row in rows:
        found[row.wallet_id][row.token] = row
    return found


def balance_days(wallet: WatchedWallet, *, days: int, today: date) -> dict[str, list[tuple[date, int]]]:
    """Return, by token, a wallet's balance at the end of each of the last days (UTC), in base units, oldest first.

    It is the last read balance less the movements since each day. Days before the first known one are left out, as are
    tokens without a balance. Never below zero, even if movements are missing.
    """
    first = max(today - timedelta(days=days - 1), _first_known(wallet))
    moved = _moved_by_day(wallet, since=first)
    found = {}
    for token, units in _held_now(wallet).items():
        held = []
        day = today
        while day >= first:
            held.append((day, max(units, 0)))
            units -= moved[token].get(day, 0)
            day -= timedelta(days=1)
        found[token] = held[::-1]
    return found


_FIRST_DAY = """
    SELECT min(day) FROM wallets_watchedday WHERE wallet_id = %s
"""


def _first_known(wallet: WatchedWallet) -> date:
    """Return the first known day: of the first movement, or the day the wallet was added."""
    added = wallet.created_at.date()
    with connection.cursor() as cursor:
        cursor.execute(_FIRST_DAY, [wallet.pk])
        [first] = cursor.fetchone()
    return min(added, first or added)


_HELD = """
    SELECT b.token, b.units + COALESCE((
        SELECT sum(CASE m.direction WHEN 'in' THEN m.units ELSE -m.units END)
        FROM wallets_watchedmovement m
        WHERE m.wallet_id = b.wallet_id AND m.token = b.token AND m.state <> 'orphaned'
          AND m.block_height > b.height AND m.block_time > b.read_at - %(slack)s), 0)
    FROM wallets_watchedbalance b WHERE b.wallet_id = %(wallet)s ORDER BY b.token
"""


def _held_now(wallet: WatchedWallet) -> dict[str, int]:
    """Return the last read balance plus the movements in later blocks."""
    parameters: dict[str, Any] = {"wallet": wallet.pk, "slack": _CLOCKS_DIFFER}
    with connection.cursor() as cursor:
        cursor.execute(_HELD, parameters)
        return {token: int(units) for token, units in cursor}


_MOVED = """
    SELECT token, day, sum(CASE direction WHEN 'in' THEN units ELSE -units END)
    FROM wallets_watchedday WHERE wallet_id = %(wallet)s AND day >= %(since)s AND state <> 'orphaned'
    GROUP BY token, day
"""


def _moved_by_day(wallet: WatchedWallet, *, since: date) -> Mapping[str, Mapping[date, int]]:
    found: dict[str, dict[date, int]] = defaultdict(dict)
    with connection.cursor() as cursor:
        cursor.execute(_MOVED, {"wallet": wallet.pk, "since": since})
        for token, day, units in cursor:
            found[token][day] = int(units)
    return found
