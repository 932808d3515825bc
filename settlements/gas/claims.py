"""One transaction at a time may pay a subject, on whichever chain and in whichever ledger: EVM chains and Solana have one each.

A buyer who signed for two chains would pay twice. `RelayClaim` is unique by subject; a caller takes the claim first, in the database transaction
that stores what is sent.
"""

from datetime import datetime
from typing import NamedTuple

from settlements.errors import NoGasError
from settlements.models import GasTransaction, RelayClaim, SponsoredTransaction
from settlements.states import ON_THEIR_WAY, Outcome


class TakenSubjectError(NoGasError):
    """Another transaction may still pay this. `is_on_its_way` says that it is sent or paid; else its signature is not over yet."""

    def __init__(self, subject: str, *, is_on_its_way: bool) -> None:
        super().__init__(f"another transaction may still pay {subject}")
        self.is_on_its_way = is_on_its_way


class Unused(NamedTuple):
    """What a payer signed that moved nothing and never will: on which chain, and when it was stored."""

    chain: str
    signed_at: datetime


def take(subject: str, *, now: datetime) -> RelayClaim:
    """Lock the claim on a subject until the end of this database transaction, for `hold`. Raises TakenSubjectError."""
    # Of two at once the second waits here for the first one's end, and then finds its row.
    RelayClaim.objects.bulk_create([RelayClaim(subject=subject)], ignore_conflicts=True)
    # Without joins: after a wait for the lock, joined rows would be those of before it.
    claim = RelayClaim.objects.select_for_update(no_key=True).get(subject=subject)
    _refuse_taken(claim, now)
    return claim


def hold(claim: RelayClaim, made: GasTransaction | SponsoredTransaction) -> None:
    """Pass a claim that this database transaction took to the transaction that it stored."""
    claim.transaction = made if isinstance(made, GasTransaction) else None
    claim.sponsored = made if isinstance(made, SponsoredTransaction) else None
    claim.save(update_fields=["transaction", "sponsored"])


def refuse_taken(subject: str, *, now: datetime) -> None:
    """Raise TakenSubjectError if `take` would, as far as is known now: before a buyer signs in vain."""
    claim = _known(subject)
    if claim is not None:
        _refuse_taken(claim, now)


def unused(subject: str, *, now: datetime) -> Unused | None:
    """Return a subject's last transaction if it paid nothing and cannot pay any more; None if it may, or there is none."""
    claim = _known(subject)
    try:
        if claim is not None:
            _refuse_taken(claim, now)
    except TakenSubjectError:
        return None
    if claim is not None and claim.sponsored is not None:
        return Unused(claim.sponsored.chain, claim.sponsored.created_at)
    made = claim.transaction if claim is not None else None
    # Whoever signed a withdrawn one was told at once.
    if made is None or not made.payer:
        return None
    return Unused(made.account.chain, made.created_at)


def _known(subject: str) -> RelayClaim | None:
    claims = RelayClaim.objects.select_related("transaction__account", "sponsored")
    return claims.filter(subject=subject).first()


def _refuse_taken(claim: RelayClaim, now: datetime) -> None:
    """Raise TakenSubjectError while the claim's transaction may pay.

    One on Solana ends for good: `tend_sponsored` waits for the last height that takes it. On an EVM chain anybody may send what a
    transaction showed that failed or was dropped, so that the claim waits for the end of the signature, ten minutes at most.
    """
    if claim.sponsored is not None:
        if claim.sponsored.outcome != Outcome.FAILED:
            raise TakenSubjectError(claim.subject, is_on_its_way=True)
        return
    made = claim.transaction
    # Withdrawn ones have no payer: no node had them.
    if made is None or not made.payer:
        return
    # An emptied one too: an attempt of before may be in a block already.
    if made.state in ON_THEIR_WAY or made.outcome == Outcome.DONE:
        raise TakenSubjectError(claim.subject, is_on_its_way=True)
    if made.expires_at is not None and now < made.expires_at:
        raise TakenSubjectError(claim.subject, is_on_its_way=False)
