"""Prices without a free exact amount, cached so that creating a checkout need not count.

Exhausted prices are stored in Valkey. Each process reads the whole list, almost always empty, at most once a second. A lost
or late entry does no harm: choosing such a chain is still refused.
"""

from datetime import datetime
from decimal import Decimal
from threading import Lock
from typing import Final, cast

import redis
from cachetools import TTLCache, cached
from django.conf import settings

from accounts.states import Mode
from gateway.core import valkey
from gateway.core.money import format_usd

# Seconds until an entry expires: cooling amounts may be free by then.
FOR_SECONDS: Final = 60
_CACHE_SECONDS: Final = 1.0


def note_exhausted(merchant_id: int, mode: str, price: Decimal, *, now: datetime, for_links: bool = False) -> None:
    """Note that a price has no amount left, or `for_links` none that a payment link may take.

    For a minute, new checkouts (or only those of links) are created without exact-amount chains.
    """
    entry = {_entry(merchant_id, mode, price, for_links): now.timestamp() + FOR_SECONDS}
    valkey.attempt(lambda client: _write(client, entry, now))
    _exhausted.cache_clear()


def is_exhausted(merchant_id: int, mode: Mode, price: Decimal, *, now: datetime, for_links: bool = False) -> bool:
    """Return whether a price had no amount left within the last minute, or `for_links` none for a payment link."""
    known = _exhausted(now)
    if not known:
        return False
    kinds = {False, for_links}
    return any(_entry(merchant_id, mode, price, kind) in known for kind in kinds)


@cached(TTLCache(1, _CACHE_SECONDS), key=lambda now: None, lock=Lock())
def _exhausted(now: datetime) -> frozenset[str]:
    """Return the entries of the list; none while Valkey is down."""
    return valkey.attempt(lambda client: _read(client, now)) or frozenset()


def _entry(merchant_id: int, mode: str, price: Decimal, for_links: bool) -> str:
    entry = f"{merchant_id}:{mode}:{format_usd(price)}"
    return f"{entry}:links" if for_links else entry


def _key() -> str:
    return f"{settings.KEY_PREFIX}:exhausted-prices"


def _read(client: redis.Redis, now: datetime) -> frozenset[str]:
    entries = client.zrangebyscore(_key(), f"({now.timestamp()}", "+inf")
    return frozenset(entry.decode() for entry in cast("list[bytes]", entries))


def _write(client: redis.Redis, entry: dict[str, float], now: datetime) -> None:
    client.zremrangebyscore(_key(), "-inf", now.timestamp())
    client.zadd(_key(), entry)
    client.expire(_key(), FOR_SECONDS)
