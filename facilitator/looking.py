"""What a chain's own nodes tell of a transaction that no watcher has recorded, as facts for a verdict."""

from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from django.db.models import Q

from accounts.states import Mode
from facilitator.errors import ProofUnknownError
from facilitator.inputs import Proof
from facilitator.judging import CONFIRMATIONS, IN_HAND, Candidate, Facts
from facilitator.models import Authorization, X402Payment
from facilitator.states import AuthorizationState
from wallets.chains.base import FoundTransaction, TokenTransfer
from wallets.lookup import Lookup, look_up_on
from wallets.models import Transfer
from wallets.networks import is_accepted
from wallets.states import TransferState


class _Known(NamedTuple):
    """What our own books have of a movement."""

    transfer_id: int | None = None
    is_used: bool = False


_Moves = set[tuple[str, str, int]]
_Books = dict[tuple[str, int, str], _Known]


def facts_from_chain(proof: Proof, *, merchant_id: int, now: datetime) -> Facts:
    """Ask a node of the chain. Raises ProofUnknownError where none can tell, or the merchant asked too often already."""
    looked = look_up_on(proof.chain, proof.tx_hash, asker=str(merchant_id))
    pay_to = proof.pay_to
    if looked.unasked:
        raise ProofUnknownError(proof.chain)
    if not looked.transactions:
        return Facts(pay_to=pay_to, is_known=False, succeeded=False, candidates=())
    awaited = _awaited(proof, now=now)
    return _facts(looked, looked.transactions[0], pay_to, awaited)


def _facts(
    looked: Lookup, found: FoundTransaction, pay_to: str, awaited: _Moves
) -> Facts:
    waits = found.succeeded and found.block_height is None
    books = _books(found)
    return Facts(
        pay_to=pay_to,
        # In no block yet it may still come to nothing.
        is_known=not waits,
        succeeded=found.succeeded,
        candidates=[
            replace(
                _candidate(one, looked, found, books),
                is_awaited=(one.token, one.sender, one.units) in awaited,
            )
            for one in found.transfers
        ],
        other_movements=any(move.token is None for move in found.movements),
    )


def _awaited(proof: Proof, *, now: datetime) -> _Moves:
    """Return what authorisations that we are settling move to an address: token, payer and base units.

    Of one that nobody has in hand and that was never sent nothing is awaited: its payer may have paid by itself since.
    """
    open_ones = Authorization.objects.filter(
        Q(state=AuthorizationState.SENT)
        | Q(state=AuthorizationState.TAKEN, taken_until__gte=now),
        mode=Mode.LIVE,
        chain=proof.chain,
        pay_to=proof.pay_to,
        created_at__gt=now - IN_HAND,
    )
    rows = open_ones.values_list("token", "payer", "units")
    return {(token, payer, int(units)) for token, payer, units in rows}


def _books(found: FoundTransaction) -> _Books:
    """Return what is known of the movements under the names that they are kept by, whatever hash was named.

    On TON a transaction moves things in others, each with a hash of its own.
    """
    hashes = {one.tx_hash for one in found.transfers}
    rows = Transfer.objects.filter(
        chain=found.chain, tx_hash__in=hashes, mode=Mode.LIVE
    ).values_list("tx_hash", "position", "recipient", "pk", "claim", "state")
    books = {
        # Of one that is orphaned its watcher has yet to learn that it came back.
        (tx_hash, position, recipient): _Known(
            pk if state != TransferState.ORPHANED else None, claim is not None
        )
        for tx_hash, position, recipient, pk, claim, state in rows
    }
    used = X402Payment.objects.filter(
        mode=Mode.LIVE, chain=found.chain, tx_hash__in=hashes
    ).values_list("tx_hash", "position", "pay_to")
    for key in used:
        books[key] = _Known(books.get(key, _Known()).transfer_id, is_used=True)
    return books


def _candidate(
    one: TokenTransfer, looked: Lookup, found: FoundTransaction, books: _Books
) -> Candidate:
    key = (one.tx_hash, one.position, one.recipient)
    transfer_id, is_used = books.get(key, _Known())
    depth = 1 if looked.head is None else looked.head - one.block_height + 1
    if found.is_final:
        depth = max(depth, CONFIRMATIONS[one.chain])
    return Candidate(
        tx_hash=one.tx_hash,
        position=one.position,
        token=one.token,
        token_is_accepted=is_accepted(one.chain, one.token),
        units=one.units,
        sender=one.sender,
        recipient=one.recipient,
        block_height=one.block_height,
        block_time=one.block_time,
        confirmations=max(depth, 1),
        is_used=is_used,
        transfer_id=transfer_id,
    )
