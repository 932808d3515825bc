"""Facts for a verdict, from a chain's nodes, about a transaction that no watcher has recorded."""

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from threading import Lock
from typing import Final, NamedTuple

from cachetools import TTLCache
from django.db import connection
from django.db.models import Q

from accounts.states import Mode
from wallets.chains.base import FoundTransaction, TokenTransfer
from wallets.lookup import Lookup, ask_on
from wallets.networks import takes_from_machines
from x402.heads import HEADS
from x402.inputs import Proof
from x402.models import Authorization
from x402.rules import IN_HAND, ProofCandidate, ProofFacts
from x402.states import AuthorizationState

# Transactions that no node of their chain knew a moment ago. Chains that did not answer are not stored.
_lately_unknown: Final[TTLCache[tuple[str, str], None]] = TTLCache(
    maxsize=10_000,
    ttl=3.0,
    # Tests replace `time.monotonic`.
    timer=lambda: time.monotonic(),
)
_lock: Final = Lock()


class ProofUnknownError(Exception):
    """No node answered about a transaction: that says nothing about the payment."""


class _OwnRecord(NamedTuple):
    """Our own records of a movement."""

    transfer_id: int | None = None
    is_used: bool = False


_Moves = set[tuple[str, str, int]]
_ChainRecords = dict[tuple[str, int, str], _OwnRecord]


def facts_from_chain(proof: Proof, *, merchant_id: int, now: datetime, meanwhile: Callable[[], None]) -> ProofFacts:
    """Ask a node of the chain, and run `meanwhile` until it answers.

    A transaction unknown a moment ago is not asked for again. Raises ProofUnknownError if no node answers, or the
    merchant's limit is reached.
    """
    transaction = (proof.chain, proof.tx_hash)
    with _lock:
        is_unknown = transaction in _lately_unknown
    if is_unknown:
        meanwhile()
        return _unknown(proof)
    asked_at = time.monotonic()
    asked = ask_on(proof.chain, proof.tx_hash, asker=str(merchant_id))
    meanwhile()
    looked = asked.answer()
    if looked.unasked:
        raise ProofUnknownError(proof.chain)
    if not looked.transactions:
        with _lock:
            _lately_unknown[transaction] = None
        return _unknown(proof)
    if looked.head is not None:
        HEADS.note(proof.chain, looked.head, at=asked_at)
    awaited = _awaited(proof, now=now)
    return _facts(looked, looked.transactions[0], proof.pay_to, awaited)


def _unknown(proof: Proof) -> ProofFacts:
    return ProofFacts(pay_to=proof.pay_to, is_known=False, succeeded=False, candidates=())


def _facts(looked: Lookup, found: FoundTransaction, pay_to: str, awaited: _Moves) -> ProofFacts:
    # More of a transaction on TON may come, and with it what is paid here.
    is_coming = not found.is_whole and all(one.recipient != pay_to for one in found.transfers)
    waits = found.succeeded and (found.block_height is None or is_coming)
    books = _chain_records(found)
    return ProofFacts(
        pay_to=pay_to,
        # Before it is in a block, it may still fail.
        is_known=not waits,
        succeeded=found.succeeded,
        candidates=[
            replace(_candidate(one, looked, found, books), is_awaited=(one.token, one.sender, one.units) in awaited)
            for one in found.transfers
        ],
        other_movements=any(move.token is None for move in found.movements),
    )


def _awaited(proof: Proof, *, now: datetime) -> _Moves:
    """Return the expected transfers of authorisations being settled to an address: token, payer and base units.

    An authorisation that has no lease and was never sent does not count: its payer may have paid separately since.
    """
    open_ones = Authorization.objects.filter(
        Q(state=AuthorizationState.SENT) | Q(state=AuthorizationState.TAKEN, taken_until__gte=now),
        mode=Mode.LIVE,
        chain=proof.chain,
        pay_to=proof.pay_to,
        created_at__gt=now - IN_HAND,
    )
    rows = open_ones.values_list("token", "payer", "units")
    return {(token, payer, int(units)) for token, payer, units in rows}


# An orphaned transfer gets no id: its watcher may not have seen yet that it returned.
_KNOWN: Final = """
    SELECT t.tx_hash, t.position, t.recipient, CASE WHEN t.state <> 'orphaned' THEN t.id END, c.transfer_id IS NOT NULL
    FROM wallets_transfer t LEFT JOIN wallets_transferclaim c ON c.transfer_id = t.id
    WHERE t.mode = 'live' AND t.chain = %(chain)s AND t.tx_hash = ANY(%(hashes)s::text[])
    UNION ALL
    SELECT tx_hash, position, pay_to, NULL, TRUE FROM x402_payment
    WHERE mode = 'live' AND chain = %(chain)s AND tx_hash = ANY(%(hashes)s::text[])
"""


def _chain_records(found: FoundTransaction) -> _ChainRecords:
    """Return the records of the movements under their own names, whatever hash was given.

    On TON, a transaction's movements are in others, each with its own hash.
    """
    hashes = list({one.tx_hash for one in found.transfers})
    books: _ChainRecords = {}
    with connection.cursor() as cursor:
        cursor.execute(_KNOWN, {"chain": found.chain, "hashes": hashes})
        for tx_hash, position, recipient, transfer_id, is_used in cursor:
            key = (tx_hash, position, recipient)
            known = books.get(key, _OwnRecord())
            books[key] = _OwnRecord(transfer_id or known.transfer_id, is_used or known.is_used)
    return books


def _candidate(one: TokenTransfer, looked: Lookup, found: FoundTransaction, books: _ChainRecords) -> ProofCandidate:
    key = (one.tx_hash, one.position, one.recipient)
    transfer_id, is_used = books.get(key, _OwnRecord())
    depth = 1 if looked.head is None else looked.head - one.block_height + 1
    return ProofCandidate(
        tx_hash=one.tx_hash,
        position=one.position,
        token=one.token,
        token_is_accepted=takes_from_machines(one.chain, one.token),
        units=one.units,
        sender=one.sender,
        recipient=one.recipient,
        block_height=one.block_height,
        block_time=one.block_time,
        confirmations=max(depth, 1),
        is_used=is_used,
        transfer_id=transfer_id,
        is_deep_enough=found.is_final,
    )
