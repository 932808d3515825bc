"""Reopens authorisations whose payments a reorg removed: another transaction may carry them out again."""

from collections.abc import Iterable

from x402.models import Authorization, X402Payment
from x402.states import AuthorizationState


def reopen(payments: Iterable[X402Payment]) -> None:
    """Reopen the authorisations of reversed payments, so that their state is checked; the caller holds the payments' locks.

    Our own transaction may be in another block, or may have been sent again for more; or a third party was faster this
    time. While one is open, no proof by hash can show the same money.
    """
    _turn(payments, AuthorizationState.SETTLED, AuthorizationState.SENT)


def close(payments: Iterable[X402Payment]) -> None:
    """Close what `reopen` opened, for payments that are valid again in the same place."""
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
