"""Reserves exact amounts: digits below a cent identify a checkout's payment. Remembers prices that have none left.

A suffix is reserved when the buyer chooses the chain, and released by a task. A unique constraint decides who has it; nothing locks
a price. Checkouts of links get half of the suffixes. An eighth of all is given last, and alone after a restore. The rest of a part payment
keeps the suffix where it is free: who sent 60 of 62.0032 is asked for 2.0032.
"""

import secrets
import struct
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from threading import Lock
from typing import Any, Final, cast

import redis
from cachetools import TTLCache, cached
from django.conf import settings
from django.db import connection, transaction

from accounts.brand.facts import with_brand
from accounts.states import Mode
from checkouts.amounts import (
    CAPACITY,
    GIVEN_BEFORE_RESTORES,
    KEPT_FOR_RESTORES,
    KEPT_FROM_LINKS,
    REFERENCE_BYTES,
    best_free,
    memo_of,
    price_of,
)
from checkouts.lifecycle.bells import ring_pages
from checkouts.models import AmountReservation, Checkout, Payment
from checkouts.options import offers_exact_amount, refuse_payment, takes_money
from checkouts.payloads import remaining_units
from gateway.core import valkey
from gateway.core.api.errors import ConflictError
from gateway.core.money import format_usd
from gateway.core.restores import Restore
from wallets.receiving.service import expect_payments

# Seconds until an entry expires: cooling amounts may be free by then.
FOR_SECONDS: Final = 60
_CACHE_SECONDS: Final = 1.0

# Each lost try means that another checkout got an amount, so this limit is not reached even for the last amounts.
_TRIES = 100
# Several at once, so that not every choice at an exhausted price searches for the next one.
_EARLY_BATCH = 100
BATCH = 1_000
# Time for a payment sent at the last moment to be mined.
_EXPECTED_AFTER_EXPIRY = timedelta(minutes=5)


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


def choose_exact_amount(checkout_id: int, *, now: datetime) -> AmountReservation:
    """Reserve the exact amount due for a checkout, the same on all its exact-amount chains and tokens.

    Idempotent while the amount due stays the same. Raises ConflictError (state_conflict) where the checkout takes no money,
    and (capacity_exhausted) where every amount of the price is in use.
    """
    with transaction.atomic():
        checkout = with_brand(Checkout.objects.locked()).get(pk=checkout_id)
        reservation = _reserve(checkout, now)
    # Outside the transaction: all choices would wait for the lock on the one row of the merchant's wallet. Those with an
    # Idempotency-Key do, but only until the next statement commits.
    _expect_payments(checkout)
    return reservation


def reserve_rest(checkouts: Iterable[Checkout], *, now: datetime) -> None:
    """Reserve the exact amount of what is still due for each part-paid checkout that is paid by exact amounts.

    The page then asks for the rest at once, without another choice of the buyer's: that money came is choice enough. In the
    caller's transaction, which holds the checkouts' locks. If every amount is in use, none is reserved, and the page says so.
    """
    for checkout in checkouts:
        if _is_part_paid_exactly(checkout, now):
            with suppress(ConflictError):
                _reserve(checkout, now)
                transaction.on_commit(partial(_expect_payments, checkout))


def _is_part_paid_exactly(checkout: Checkout, now: datetime) -> bool:
    is_part = checkout.amount_received > 0 and bool(remaining_units(checkout))
    if not is_part or not takes_money(checkout, now=now) or not offers_exact_amount(checkout):
        return False
    chosen = AmountReservation.objects.filter(checkout=checkout, released_at=None)
    return chosen.exists() or Payment.objects.filter(checkout=checkout, transfer__wallet__isnull=False).exists()


def _reserve(checkout: Checkout, now: datetime) -> AmountReservation:
    due = remaining_units(checkout)
    if not due or not takes_money(checkout, now=now):
        refuse_payment(checkout)
    price = price_of(due)
    held = AmountReservation.objects.filter(checkout=checkout, price=price, released_at=None).first()
    if held is None:
        held = AmountReservation(
            checkout=checkout, merchant=checkout.merchant, mode=checkout.mode, price=price, reserved_at=now
        )
        _take_free_amount(held, liked=_suffix_before(checkout))
        ring_pages([checkout.pk])
    held.merchant = checkout.merchant
    return held


def _suffix_before(checkout: Checkout) -> int:
    """Return the suffix of a part-paid checkout's last amount, 0 for none: the rest is then what its buyer sent too little."""
    if not checkout.amount_received:
        return 0
    return (
        AmountReservation.objects.filter(checkout=checkout).order_by("-pk").values_list("suffix", flat=True).first()
        or 0
    )


def _take_free_amount(wanted: AmountReservation, *, liked: int) -> None:
    """Fill in suffix, reference and memo, and write the row: with the suffix `liked`, 0 for none, where that is free.

    Raises ConflictError (capacity_exhausted).
    """
    from_links = KEPT_FROM_LINKS if wanted.checkout.is_from_link else ()
    for _ in range(_TRIES):
        taken, restores = _taken(wanted)
        kept = [*from_links, *_unknown(restores)]
        free = best_free([*taken, *kept, *KEPT_FOR_RESTORES])
        free = free or best_free([*taken, *kept])
        if not free and not _release_early(wanted, kept):
            break
        is_liked = liked > 0 and liked not in {*taken, *kept}
        if free and _insert(wanted, liked if is_liked else secrets.choice(free)):
            if len(taken) + 1 == CAPACITY:
                _note_exhausted(wanted)
            return
    _note_exhausted(wanted, for_links=wanted.checkout.is_from_link)
    raise ConflictError(
        f"All exact amounts for {wanted.price} USD are in use; choose another chain, or try again later.",
        code="capacity_exhausted",
    )


def _note_exhausted(wanted: AmountReservation, *, for_links: bool = False) -> None:
    note_exhausted(wanted.merchant_id, wanted.mode, wanted.price, now=wanted.reserved_at, for_links=for_links)


# Two bytes each, decoded at once: decoding thousands of integers is slow.
_TAKEN = """
    SELECT COALESCE(string_agg(int2send(suffix), ''::bytea), ''::bytea),
        (SELECT count(*) FROM gateway_restore WHERE amounts_until > %s::timestamptz)
    FROM checkouts_amountreservation
    WHERE merchant_id = %s AND mode = %s AND price = %s::numeric AND released_at IS NULL
"""


def _taken(wanted: AmountReservation) -> tuple[tuple[int, ...], int]:
    """Return the suffixes in use, and the number of restores after which lost checkouts may hold others."""
    values: list[Any] = [wanted.reserved_at, wanted.merchant_id, wanted.mode, wanted.price]
    with connection.cursor() as cursor:
        cursor.execute(_TAKEN, values)
        found, restores = cursor.fetchone()
    data = bytes(found)
    return struct.unpack(f">{len(data) // 2}h", data), restores


def kept_back(*, now: datetime) -> Sequence[int]:
    """Return the suffixes that no checkout gets because one that a restore lost may hold them; none where no restore counts."""
    return _unknown(Restore.objects.filter(amounts_until__gt=now).count())


def _unknown(restores: int) -> Sequence[int]:
    """Return the suffixes that lost checkouts may hold; after a second restore, also those given out since the first."""
    if not restores:
        return ()
    return GIVEN_BEFORE_RESTORES if restores == 1 else range(1, CAPACITY + 1)


_INSERT = """
    INSERT INTO checkouts_amountreservation
        (checkout_id, merchant_id, mode, price, suffix, reference, memo, reserved_at)
    VALUES (%s, %s, %s, %s::numeric, %s, %s, %s, %s::timestamptz)
    ON CONFLICT (merchant_id, mode, price, suffix) WHERE released_at IS NULL DO NOTHING
    RETURNING id
"""


def _insert(wanted: AmountReservation, suffix: int) -> bool:
    """Insert the reservation with this suffix; False if it is taken."""
    reference = secrets.token_bytes(REFERENCE_BYTES)
    values: list[Any] = [
        wanted.checkout_id,
        wanted.merchant_id,
        wanted.mode,
        wanted.price,
        suffix,
        reference,
        memo_of(reference),
        wanted.reserved_at,
    ]
    with connection.cursor() as cursor:
        cursor.execute(_INSERT, values)
        written = cursor.fetchone()
    if written is None:
        return False
    wanted.pk, wanted.suffix = written[0], suffix
    wanted.reference, wanted.memo = reference, memo_of(reference)
    return True


def _expect_payments(checkout: Checkout) -> None:
    """Make watchers read the wallets that may receive the reserved amount at full pace."""
    if checkout.mode != Mode.LIVE:
        return
    # Rounded to the minute: choices in the same minute change a wallet's row once.
    until = (checkout.expires_at + _EXPECTED_AFTER_EXPIRY).replace(second=0, microsecond=0)
    for chain, offer in sorted(checkout.offers.items()):
        if offer["address"] is None:
            expect_payments(chain, address=offer["wallet"], until=until)


# Only of ended checkouts: a live one keeps its amount even after its expiry time. Rows that another worker is releasing are
# skipped.
_RELEASE = """
    UPDATE checkouts_amountreservation SET released_at = %(now)s::timestamptz
    WHERE id IN (
        SELECT r.id FROM checkouts_amountreservation r JOIN checkouts_checkout c ON c.id = r.checkout_id
        WHERE r.released_at IS NULL AND r.reserved_at <= %(ended_by)s::timestamptz
          AND c.status IN ('completed', 'expired')
          AND COALESCE(c.paid_at, c.expires_at) <= %(ended_by)s::timestamptz
          {narrowed}
        ORDER BY {order}
        LIMIT %(batch)s
        FOR UPDATE OF r SKIP LOCKED)
"""
_RELEASE_DUE = _RELEASE.format(narrowed="", order="r.reserved_at")
_RELEASE_EARLY = _RELEASE.format(
    narrowed="AND r.merchant_id = %(merchant)s AND r.mode = %(mode)s AND r.price = %(price)s::numeric"
    " AND r.suffix <> ALL (%(kept)s::int[])",
    order="COALESCE(c.paid_at, c.expires_at), r.id",
)


def release_amounts(*, now: datetime, batch: int = BATCH) -> int:
    """Free the amounts of checkouts that ended long enough ago; return how many."""
    held_for = timedelta(hours=settings.EXACT_AMOUNT_HOLD_HOURS)
    parameters = {"now": now, "ended_by": now - held_for, "batch": batch}
    total = 0
    while released := _release(_RELEASE_DUE, parameters):
        total += released
    return total


def _release_early(wanted: AmountReservation, kept: Sequence[int]) -> int:
    """Free the oldest ended checkouts' amounts of an exhausted price, if they ended long enough ago.

    Suffixes in `kept` are not released: the checkout that wants an amount may not use them.
    """
    held_for = timedelta(hours=settings.EXACT_AMOUNT_SHORT_HOLD_HOURS)
    return _release(
        _RELEASE_EARLY,
        {
            "now": wanted.reserved_at,
            "ended_by": wanted.reserved_at - held_for,
            "batch": _EARLY_BATCH,
            "merchant": wanted.merchant_id,
            "mode": wanted.mode,
            "price": wanted.price,
            "kept": list(kept),
        },
    )


def _release(statement: str, parameters: dict[str, Any]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return int(cursor.rowcount)
