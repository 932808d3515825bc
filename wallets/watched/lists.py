"""Queries of watched wallets: one by id, a page, their tags."""

from dataclasses import dataclass
from typing import Final

from django.db import connection
from django.db.models import QuerySet

from accounts.states import Mode
from gateway.core.api.errors import InvalidRequestError, NotFoundError
from gateway.core.api.pagination import Page
from wallets.models import WatchedWallet

# More than people scroll through; further tags are still found by typing.
MOST_TAGS_OFFERED: Final = 200


@dataclass(frozen=True, slots=True)
class WalletFilter:
    """The filters of a list of watched wallets; empty texts exclude nothing."""

    merchant_id: int
    mode: Mode
    chain: str = ""
    tag: str = ""

    @property
    def is_narrowed(self) -> bool:
        """Whether any filter applies."""
        return bool(self.chain or self.tag)


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
    return WatchedWallet.objects.filter(merchant=merchant_id, mode=mode)
