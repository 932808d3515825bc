"""Payments that one node's word is not enough for: a seller got a large sum within an hour.

From one payer: each transfer must then be final and known to two nodes, as for a checkout
(`wallets.reconciliation.confirmation`). From all payers: two nodes must know it, final or not, if the chain has two. What two nodes
know does not count again.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from threading import Lock
from typing import Any, Final

from cachetools import TTLCache, cached
from django.db import connection, transaction

from accounts.states import Mode
from wallets.chains.family import ChainSpec
from wallets.networks import chain_spec
from wallets.transfers.service import ask_witnesses
from x402.inputs import VerifyRequest
from x402.rules import ProofCandidate

WINDOW: Final = timedelta(hours=1)
"""How long a payment counts in its payer's and its seller's sum: as long as a proof may be old."""

COUNTED_FROM: Final = 1_000_000
"""The least price, in base units, for which the sums are added up each time.

Smaller ones count in the sums, and wait once their seller's was large a few seconds ago.
"""

EARLY_PART: Final = 2
"""A second node is asked beforehand once a seller's sum is this fraction of a large one, so that honest payers do not wait."""

_FEW_SECONDS: Final = 10.0

_TAKE_TURN: Final = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 403))"

# What was reversed counts too: its resource was served. The hour counts from the payment: waiting makes no sum smaller.
IS_BELIEVED: Final = """
    (%(payers_limit)s::numeric IS NULL
     OR paid.units + (
        SELECT COALESCE(SUM(o.units), 0) FROM x402_payment o
        WHERE o.mode = 'live' AND o.payer = %(payer)s::text AND o.merchant_id = %(merchant)s::bigint
          AND o.verified_at > LEAST(%(now)s::timestamptz, paid.block_time) - %(window)s
          AND (o.chain, o.tx_hash, o.position) <> (%(chain)s::text, paid.tx_hash, paid.position)
     ) < %(payers_limit)s::numeric
     OR EXISTS (
        SELECT FROM wallets_transfer v
        LEFT JOIN wallets_witnessrequest w ON w.transfer_id = v.id AND w.block_hash = v.block_hash
        WHERE v.id = paid.transfer_id AND v.state = 'confirmed'
          AND (v.units >= %(payers_limit)s::numeric OR w.answered_at IS NOT NULL)))
    AND (%(sellers_limit)s::numeric IS NULL
     OR paid.witnessed_at IS NOT NULL
     OR paid.units + (
        SELECT COALESCE(SUM(o.units), 0) FROM x402_payment o
        WHERE o.mode = 'live' AND o.merchant_id = %(merchant)s::bigint AND o.witnessed_at IS NULL
          AND o.verified_at > LEAST(%(now)s::timestamptz, paid.block_time) - %(window)s
          AND (o.chain, o.tx_hash, o.position) <> (%(chain)s::text, paid.tx_hash, paid.position)
     ) < %(sellers_limit)s::numeric)
"""
"""SQL condition: `paid` is no part of a large sum, or the chain and a second node vouched for its transfer."""

_IS_BELIEVED: Final = f"""
    SELECT {IS_BELIEVED}
    FROM (SELECT %(tx_hash)s::text AS tx_hash, %(position)s::int AS position, %(units)s::numeric AS units,
                 %(block_time)s::timestamptz AS block_time, %(transfer)s::bigint AS transfer_id,
                 (SELECT v.witnessed_at FROM wallets_transfer v WHERE v.id = %(transfer)s::bigint) AS witnessed_at) paid
"""  # noqa: S608 - only our own text is put in

_UNWITNESSED: Final = """
    SELECT COALESCE(SUM(units), 0) FROM x402_payment
    WHERE mode = 'live' AND merchant_id = %s AND witnessed_at IS NULL AND verified_at > %s::timestamptz
"""


def limits_for(merchant_id: int, mode: Mode, request: VerifyRequest, *, now: datetime) -> dict[str, Any]:
    """Return the parameters of the condition; without a limit nothing is added up."""
    spec = chain_spec(request.proof.chain)
    large = spec.large_units if mode == Mode.LIVE else None
    is_counted = request.requirements.units >= COUNTED_FROM
    sellers = large if _has_second_node(spec) else None
    if sellers is not None and not is_counted and _unwitnessed_lately(merchant_id, now) < sellers:
        sellers = None
    return {"payers_limit": large if is_counted else None, "sellers_limit": sellers, "window": WINDOW}


@contextmanager
def turn_of_seller(merchant_id: int, limits: dict[str, Any]) -> Iterator[None]:
    """Let a seller's payments be used one after the other, where each must see the sums of those before it."""
    if not is_limited(limits):
        yield
        return
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(_TAKE_TURN, [str(merchant_id)])
        yield


def awaits_second_node(
    merchant_id: int, mode: Mode, request: VerifyRequest, paid: ProofCandidate, now: datetime
) -> bool:
    """Whether a payment is part of a large sum and not vouched for yet; a second node is asked for its word then."""
    limits = limits_for(merchant_id, mode, request, now=now)
    if not is_limited(limits):
        return False
    parameters: dict[str, Any] = limits | {
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
    _ask(chain_spec(request.proof.chain), paid.transfer_id, paid.units, is_final=paid.is_final, now=now)
    return True


def is_sold_out(merchant_id: int, spec: ChainSpec, *, now: datetime) -> bool:
    """Whether a seller got a large sum within the hour, of which no second node of a chain that has one was heard.

    Then nothing is sent for a signed payment: the payer keeps the money until a second node was heard.
    """
    large = spec.large_units
    return large is not None and _has_second_node(spec) and _unwitnessed(merchant_id, now) >= large


def ask_early(merchant_id: int, chain: str, transfer_id: int | None, units: int, *, now: datetime) -> None:
    """Ask a second node about a payment of a seller whose sum will soon be large."""
    spec = chain_spec(chain)
    if spec.large_units is None or not _has_second_node(spec):
        return
    if EARLY_PART * _unwitnessed_lately(merchant_id, now) >= spec.large_units:
        _ask(spec, transfer_id, units, is_final=False, now=now)


def _ask(spec: ChainSpec, transfer_id: int | None, units: int, *, is_final: bool, now: datetime) -> None:
    # A large transfer needs no request: it becomes final only with two nodes' words, unless there was one node then.
    if transfer_id is not None and (is_final or units < (spec.large_units or 0)):
        ask_witnesses([transfer_id], now=now)


def is_limited(limits: dict[str, Any]) -> bool:
    """Whether anything is added up."""
    return limits["payers_limit"] is not None or limits["sellers_limit"] is not None


def _has_second_node(spec: ChainSpec) -> bool:
    return len(spec.rpc_urls) > 1


def _unwitnessed(merchant_id: int, now: datetime) -> int:
    """Return what a seller got within the hour of which no second node was heard, in base units."""
    with connection.cursor() as cursor:
        cursor.execute(_UNWITNESSED, [merchant_id, now - WINDOW])
        [units] = cursor.fetchone()
    return int(units)


_unwitnessed_lately: Final = cached(
    TTLCache(maxsize=10_000, ttl=_FEW_SECONDS), key=lambda merchant_id, now: merchant_id, lock=Lock()
)(_unwitnessed)
"""The same, as it was a few seconds ago: payments of cents cost no sum each."""
