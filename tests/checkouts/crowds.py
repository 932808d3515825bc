"""Thousands of checkouts and reserved amounts at once, written by the database itself."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

import orjson
from django.db import connection

from accounts.models import Merchant
from accounts.states import Mode
from checkouts.models import Checkout
from checkouts.states import CheckoutStatus
from tests.checkouts.factories import EXACT_OFFERS
from tests.factories import NOON

PRICE = Decimal("25.00")
HALF_PAST = NOON.replace(minute=30)

_CHECKOUTS = """
    INSERT INTO checkouts_checkout (
        public_id, code, merchant_id, mode, status, exception, amount, currency, description, metadata,
        customer_email, redirect_url, webhook_url, customer_ref, product_ref, order_ref, offers,
        deposit_nonce, amount_received, underpaid_reported, event_count, test_scenario, expires_at, created_at, paid_at)
    SELECT left('chk_' || %(mode)s || '_' || replace(gen_random_uuid()::text, '-', ''), 40), left(replace(gen_random_uuid()::text, '-', ''), 26),
           %(merchant)s, %(mode)s, %(status)s, '', %(price)s::numeric, 'USD', '', '{}', '', '', '', '', '', '',
           %(offers)s::jsonb, sha256(gen_random_uuid()::text::bytea), 0, 0, 0, '', %(expires_at)s::timestamptz,
           %(created_at)s::timestamptz, %(paid_at)s::timestamptz
    FROM generate_series(1, %(count)s::int)
    RETURNING id
"""
_RESERVATIONS = """
    INSERT INTO checkouts_amountreservation
        (checkout_id, merchant_id, mode, price, suffix, reference, memo, reserved_at)
    SELECT c.id, c.merchant_id, c.mode, c.amount, held.suffix, sha256(gen_random_uuid()::text::bytea),
           left(md5(gen_random_uuid()::text), 16), c.created_at
    FROM unnest(%(checkouts)s::bigint[], %(suffixes)s::int[]) AS held(checkout_id, suffix)
    JOIN checkouts_checkout c ON c.id = held.checkout_id
"""


def make_crowd(
    merchant: Merchant,
    count: int,
    *,
    price: Decimal = PRICE,
    mode: Mode = Mode.LIVE,
    status: CheckoutStatus = CheckoutStatus.PENDING,
    expires_at: datetime = HALF_PAST,
    paid_at: datetime | None = None,
) -> list[int]:
    """So many checkouts that offer exact-amount chains, made at noon; their ids."""
    parameters: dict[str, Any] = {
        "merchant": merchant.pk,
        "mode": mode.value,
        "status": status.value,
        "price": price,
        "offers": orjson.dumps(EXACT_OFFERS).decode(),
        "expires_at": expires_at,
        "created_at": min(NOON, expires_at),
        "paid_at": paid_at,
        "count": count,
    }
    with connection.cursor() as cursor:
        cursor.execute(_CHECKOUTS, parameters)
        return [pk for (pk,) in cursor]


def hold(checkout_ids: Sequence[int], suffixes: Sequence[int]) -> None:
    """Let each checkout hold the suffix beside it, since it was made."""
    held = {"checkouts": list(checkout_ids), "suffixes": list(suffixes)}
    with connection.cursor() as cursor:
        cursor.execute(_RESERVATIONS, held)


def make_holders(merchant: Merchant, suffixes: Sequence[int], **facts: Any) -> None:
    """Checkouts that hold these suffixes of a price."""
    hold(make_crowd(merchant, len(suffixes), **facts), suffixes)


def make_exact_checkout(merchant: Merchant, **facts: Any) -> Checkout:
    """One checkout that offers exact-amount chains."""
    return Checkout.objects.get(pk=make_crowd(merchant, 1, **facts)[0])
