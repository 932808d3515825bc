"""Verifies the audit log: each seal contains the one before it, so entries cannot be changed unnoticed.

A person with write access to the database can forge the newest part of a chain, or cut off its end. The heads
(`AuditHead`), stored elsewhere, reveal that: `missing_heads` compares them with the log.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from django.db import connection, transaction

from accounts.models import AuditSeal

# The same text as the trigger's in migration 0006; a test compares them.
_SEALS: Final = """
SELECT s.chain, s.number, s.digest, s.entry_id,
    CASE WHEN e.id IS NOT NULL THEN jsonb_build_array(
        e.id, e.merchant_id, e.actor_id, e.actor_label, e.action, e.object_id, e.before,
        e.after, host(e.address), (extract(epoch FROM e.created_at) * 1000000)::bigint)::text END,
    coalesce(e.merchant_id, 0)
FROM accounts_auditseal AS s LEFT JOIN accounts_auditentry AS e ON e.id = s.entry_id
WHERE %(chain)s::bigint IS NULL OR s.chain = %(chain)s
ORDER BY s.chain, s.number
"""
_UNSEALED: Final = """
SELECT id FROM accounts_auditentry AS e
WHERE (%(chain)s::bigint IS NULL OR coalesce(e.merchant_id, 0) = %(chain)s)
    AND NOT EXISTS (SELECT FROM accounts_auditseal AS s WHERE s.entry_id = e.id)
ORDER BY id
"""


@dataclass(frozen=True, slots=True)
class AuditHead:
    """The newest seal of a chain: the merchant's key (0 for no merchant), how many entries, and the digest in hex."""

    chain: int
    number: int
    digest: str


@dataclass(slots=True)
class AuditReport:
    """The result of a full verification: each chain's head, and what is wrong, in words."""

    heads: list[AuditHead] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    @property
    def entries(self) -> int:
        """Return how many entries are sealed."""
        return sum(head.number for head in self.heads)


@dataclass(frozen=True, slots=True)
class _Seal:
    chain: int
    number: int
    digest: bytes
    entry_id: int
    words: str | None
    merchant: int


def verify_audit_log(chain: int | None = None) -> AuditReport:
    """Read the log, or one merchant's chain, once and in constant memory; compare every entry with its seal."""
    report = AuditReport()
    last: _Seal | None = None
    for seal in _seals(chain):
        if last is not None and last.chain != seal.chain:
            report.heads.append(_head(last))
            last = None
        report.faults += _faults(seal, last)
        last = seal
    if last is not None:
        report.heads.append(_head(last))
    report.faults += _unsealed(chain)
    return report


def missing_heads(noted: Iterable[AuditHead]) -> list[str]:
    """Return the stored heads that no longer match a seal of the log: their entries were changed or cut off."""
    faults = []
    for head in noted:
        kept = AuditSeal.objects.filter(chain=head.chain, number=head.number).first()
        if kept is None or bytes(kept.digest).hex() != head.digest:
            where = f"chain {head.chain}"
            faults.append(f"{where}: seal {head.number} is not the one noted down")
    return faults


def seal_digest(previous: bytes, words: str) -> bytes:
    """Return the digest of a seal: SHA-256 over the one before it and the entry's text."""
    return hashlib.sha256(previous + words.encode()).digest()


def _faults(seal: _Seal, last: _Seal | None) -> list[str]:
    where = f"chain {seal.chain}, entry {seal.entry_id}"
    if seal.number != (last.number + 1 if last else 1):
        return [f"{where}: seals before number {seal.number} are missing"]
    if seal.words is None:
        return [f"{where}: the entry is missing"]
    before = last.digest if last else b""
    whole = seal.merchant == seal.chain
    if not whole or seal_digest(before, seal.words) != seal.digest:
        return [f"{where}: it does not fit its seal"]
    return []


def _head(seal: _Seal) -> AuditHead:
    return AuditHead(seal.chain, seal.number, seal.digest.hex())


def _seals(chain: int | None) -> Iterator[_Seal]:
    # A cursor lives in a session. A pooler in transaction mode gives it to other clients after each transaction.
    with transaction.atomic(), connection.chunked_cursor() as cursor:
        cursor.execute(_SEALS, {"chain": chain})
        for of_chain, number, digest, entry_id, words, merchant in cursor:
            yield _Seal(of_chain, number, bytes(digest), entry_id, words, merchant)


def _unsealed(chain: int | None) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(_UNSEALED, {"chain": chain})
        return [f"entry {pk}: it has no seal" for (pk,) in cursor]
