"""What a chain's own nodes tell of a transaction that no watcher has recorded, as facts for a verdict."""

from accounts.states import Mode
from facilitator.errors import ProofUnknownError
from facilitator.judging import Candidate, Facts
from facilitator.models import X402Payment
from wallets.chains.base import FoundTransaction, TokenTransfer
from wallets.lookup import look_up_on
from wallets.models import ChainCursor
from wallets.networks import is_accepted


def facts_from_chain(chain: str, tx_hash: str) -> Facts:
    """Ask a node of the chain. `pay_to` is for the caller to fill in. Raises ProofUnknownError where none can tell."""
    looked = look_up_on(chain, tx_hash)
    if looked.unasked:
        raise ProofUnknownError(chain)
    if not looked.transactions:
        return Facts(pay_to=None, is_known=False, succeeded=False, candidates=())
    return _facts(looked.transactions[0])


def _facts(found: FoundTransaction) -> Facts:
    waits = found.succeeded and found.block_height is None
    head = ChainCursor.objects.filter(chain=found.chain).values_list("head").first()
    newest = head[0] if head and head[0] is not None else 0
    used = _used(found)
    return Facts(
        pay_to=None,
        # In no block yet it may still come to nothing.
        is_known=not waits,
        succeeded=found.succeeded,
        candidates=[
            _candidate(one, newest, (one.tx_hash, one.position) in used)
            for one in found.transfers
        ],
        other_movements=any(move.token is None for move in found.movements),
    )


def _used(found: FoundTransaction) -> set[tuple[str, int]]:
    hashes = {one.tx_hash for one in found.transfers}
    rows = X402Payment.objects.filter(
        mode=Mode.LIVE, chain=found.chain, tx_hash__in=hashes
    )
    return set(rows.values_list("tx_hash", "position"))


def _candidate(one: TokenTransfer, head: int, is_used: bool) -> Candidate:
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
        # A node may be ahead of what the watcher saw last.
        confirmations=max(head - one.block_height + 1, 1),
        is_used=is_used,
    )
