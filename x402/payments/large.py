"""Payments by hash that one node's word is not enough for: a seller got a large sum from one payer within an hour.

Each transfer must then be final and known to two nodes, as for a checkout (`wallets.reconciliation.confirmation`).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import connection, transaction

from accounts.states import Mode
from wallets.networks import chain_spec
from wallets.transfers.service import ask_witnesses
from x402.inputs import VerifyRequest
from x402.rules import Candidate

WINDOW: Final = timedelta(hours=1)
"""How long a payment counts in its payer's sum with a seller: as long as a proof may be old."""

COUNTED_FROM: Final = 1_000_000
"""The least price, in base units, that waits for a second node. Smaller ones count in the sum, and cost no question."""

_TAKE_TURN: Final = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 403))"

# What was reversed counts too: its resource was served. The hour counts from the payment: waiting makes no sum smaller.
IS_BELIEVED: Final = """
    (%(large)s::numeric IS NULL
     OR paid.units + (
        SELECT COALESCE(SUM(o.units), 0) FROM x402_payment o
        WHERE o.mode = 'live' AND o.payer = %(payer)s::text AND o.merchant_id = %(merchant)s::bigint
          AND o.verified_at > LEAST(%(now)s::timestamptz, paid.block_time) - %(window)s
          AND (o.chain, o.tx_hash, o.position) <> (%(chain)s::text, paid.tx_hash, paid.position)
     ) < %(large)s::numeric
     OR EXISTS (
        SELECT FROM wallets_transfer v
        LEFT JOIN wallets_witnessrequest w ON w.transfer_id = v.id AND w.block_hash = v.block_hash
        WHERE v.id = paid.transfer_id AND v.state = 'confirmed'
          AND (v.units >= %(large)s::numeric OR v.witnessed_at IS NOT NULL OR w.answered_at IS NOT NULL)))
"""
"""SQL condition: `paid` is no part of a large sum, or the chain and a second node vouched for its transfer."""

_IS_BELIEVED: Final = f"""
    SELECT {IS_BELIEVED}
    FROM (SELECT %(tx_hash)s::text AS tx_hash, %(position)s::int AS position, %(units)s::numeric AS units,
                 %(block_time)s::timestamptz AS block_time, %(transfer)s::bigint AS transfer_id) paid
"""  # noqa: S608 - only our own text is put in


def limit_for(mode: Mode, request: VerifyRequest) -> dict[str, Any]:
    """Return the parameters of the condition; without a limit nothing is added up."""
    is_counted = mode == Mode.LIVE and request.requirements.units >= COUNTED_FROM
    large = chain_spec(request.proof.chain).large_units if is_counted else None
    return {"large": large, "window": WINDOW}


@contextmanager
def turn_of_payer(merchant_id: int, request: VerifyRequest, *, large: int | None) -> Iterator[None]:
    """Let a payer's payments to a seller be used one after the other, where each must see the sum of those before it."""
    if large is None:
        yield
        return
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(_TAKE_TURN, [f"{merchant_id}:{request.proof.payer}"])
        yield


def awaits_second_node(merchant_id: int, mode: Mode, request: VerifyRequest, paid: Candidate, now: datetime) -> bool:
    """Whether a payment is part of a large sum and not vouched for yet; a second node is asked for its word then."""
    limit = limit_for(mode, request)
    if limit["large"] is None:
        return False
    parameters: dict[str, Any] = limit | {
        "merchant": merchant_id,
        "payer": request.proof.payer,
        "chain": request.proof.chain,
        "tx_hash": paid.tx_hash,
        "position": paid.position,
        "units": paid.units,
        "block_time": paid.block_time,
        "transfer": paid.transfer_id,
        "now": now,
    }
    with connection.cursor() as cursor:
        cursor.execute(_IS_BELIEVED, parameters)
        [is_believed] = cursor.fetchone()
    if is_believed:
        return False
    # A large transfer needs no request: it becomes final only with two nodes' words.
    if paid.transfer_id is not None and paid.units < limit["large"]:
        ask_witnesses([paid.transfer_id], now=now)
    return True
