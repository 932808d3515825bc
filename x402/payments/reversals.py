"""Authorisations whose payments the network took back: they may be carried out again, in another transaction."""

from collections.abc import Iterable

from x402.models import Authorization, X402Payment
from x402.states import AuthorizationState


def reopen(payments: Iterable[X402Payment]) -> None:
    """Have it found out what became of the authorisations of reversed payments; the caller holds the payments' locks.

    Our own transaction may be in another block, or may have been sent again for more; or somebody else was faster this time.
    While one is open, no proof by hash can show the same money.
    """
    _turn(payments, AuthorizationState.SETTLED, AuthorizationState.SENT)


def close(payments: Iterable[X402Payment]) -> None:
    """End what `reopen` opened, of payments that stand again where they were."""
    _turn(payments, AuthorizationState.SENT, AuthorizationState.SETTLED)


def _turn(
    payments: Iterable[X402Payment],
    before: AuthorizationState,
    after: AuthorizationState,
) -> None:
    ids = sorted(payment.pk for payment in payments)
    if ids:
        rows = Authorization.objects.filter(payment__in=ids, state=before)
        rows.update(state=after, taken_until=None)
