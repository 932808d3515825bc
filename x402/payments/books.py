"""Our own records of a transaction: the watcher's transfers, and when a merchant first asked about it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import connection

from wallets.networks import is_accepted
from x402.inputs import Proof
from x402.rules import IN_HAND, Candidate, Facts


@dataclass(frozen=True, slots=True)
class Books:
    """`facts` know the transaction only if a watcher recorded it. `seen_at` is null if it was never named before."""

    facts: Facts
    seen_at: datetime | None
    requires_signature: bool


IS_RECORDED: Final = """
    t.chain = %(chain)s AND t.tx_hash = %(tx_hash)s AND t.recipient = %(pay_to)s
    AND t.merchant_id = %(merchant)s AND t.mode = 'live' AND t.purpose = 'x402'
"""
"""SQL condition: the transfer `t` is of the transaction and paid the merchant's machines at `pay_to`, whatever its state."""

IS_AWAITED: Final = """
    EXISTS (
        SELECT FROM x402_authorization a
        WHERE a.mode = 'live' AND a.chain = t.chain AND a.token = t.token AND a.payer = t.sender
          AND a.pay_to = t.recipient AND a.units = t.units
          AND (a.state = 'sent' OR a.state = 'taken' AND a.taken_until >= %(now)s::timestamptz)
          AND a.created_at > %(now)s::timestamptz - %(in_hand)s)
"""
"""SQL condition: `t` may be the transfer of an authorisation being settled for the same payer."""

_READ: Final = f"""
    SELECT s.seen_at, COALESCE(m.requires_signature, FALSE), t.id, t.tx_hash, t.position, t.token, t.units::text,
           t.sender, t.recipient, t.block_height, t.block_time, t.state = 'confirmed', k.head,
           c.transfer_id IS NOT NULL OR p.id IS NOT NULL,
           {IS_AWAITED}
    FROM (VALUES (1)) AS one
    LEFT JOIN x402_machinesettings m ON m.merchant_id = %(merchant)s
    LEFT JOIN x402_sighting s
        ON s.merchant_id = %(merchant)s AND s.chain = %(chain)s AND s.tx_hash = %(tx_hash)s
    LEFT JOIN wallets_transfer t ON {IS_RECORDED} AND t.state <> 'orphaned'
    LEFT JOIN wallets_transferclaim c ON c.transfer_id = t.id
    LEFT JOIN x402_payment p
        ON p.mode = 'live' AND p.chain = t.chain AND p.tx_hash = t.tx_hash AND p.position = t.position
    LEFT JOIN wallets_chaincursor k ON k.chain = %(chain)s
"""  # noqa: S608 - only our own text is put in


def read_books(merchant_id: int, proof: Proof, *, now: datetime) -> Books:
    """Return our records about a proof, in one statement. Its payTo is known to be the merchant's."""
    parameters: dict[str, Any] = {
        "merchant": merchant_id,
        "chain": proof.chain,
        "tx_hash": proof.tx_hash,
        "pay_to": proof.pay_to,
        "in_hand": IN_HAND,
        "now": now,
    }
    with connection.cursor() as cursor:
        cursor.execute(_READ, parameters)
        rows = cursor.fetchall()
    candidates = [_candidate(proof.chain, row) for row in rows if row[2] is not None]
    facts = Facts(pay_to=proof.pay_to, is_known=bool(candidates), succeeded=True, candidates=candidates)
    return Books(facts, seen_at=rows[0][0], requires_signature=rows[0][1])


def _candidate(chain: str, row: Sequence[Any]) -> Candidate:
    _, _, pk, tx_hash, position, token, units, sender, recipient, *rest = row
    height, block_time, is_final, head, is_used, is_awaited = rest
    depth = max((head or height) - height + 1, 1)
    return Candidate(
        tx_hash=tx_hash,
        position=position,
        token=token,
        token_is_accepted=is_accepted(chain, token),
        units=int(units),
        sender=sender,
        recipient=recipient,
        block_height=height,
        block_time=block_time,
        confirmations=depth,
        is_used=is_used,
        transfer_id=pk,
        is_final=is_final,
        is_deep_enough=is_final,
        is_awaited=is_awaited,
    )
