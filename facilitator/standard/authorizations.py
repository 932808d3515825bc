"""Whose turn it is with a signed authorisation: a row for each, and a lease of a few seconds on it.

The lease only spares work. That nothing is sent twice is the ledger's doing, where one authorisation is one transaction.
"""

from datetime import datetime, timedelta
from typing import Any, Final

from django.db import IntegrityError, transaction
from django.db.models import F, Q, QuerySet

from accounts.states import Mode
from facilitator.models import Authorization
from facilitator.standard.errors import TakenElsewhereError
from facilitator.standard.inputs import StandardRequest
from facilitator.states import AuthorizationState
from settlements.models import GasAttempt, GasTransaction

LEASE: Final = timedelta(seconds=5)
REPEATED: Final = timedelta(minutes=5)
"""How long a settled authorisation's answer is repeated to the merchant that asked for it: past every retry of a client,
and too short to live on."""


_OPEN: Final = (AuthorizationState.TAKEN, AuthorizationState.SENT)


def find(request: StandardRequest) -> Authorization | None:
    """Return what is known of an authorisation."""
    return _rows(request).select_related("transaction", "payment").first()


def left_open(*, now: datetime) -> QuerySet[Authorization]:
    """Return what was sent and nobody has in hand; what was looked at lately comes last."""
    rows = Authorization.objects.filter(_is_free(now), state=AuthorizationState.SENT)
    looked_at = F("taken_until").asc(nulls_first=True)
    return rows.select_related("transaction__account").order_by(looked_at, "pk")


def claim(
    merchant_id: int, request: StandardRequest, *, now: datetime
) -> Authorization:
    """Take an authorisation in hand, writing it down where it is new. Raises TakenElsewhereError."""
    values = _terms(merchant_id, request) | {
        "taken_until": now + LEASE,
        "pending": {"version": request.version},
    }
    try:
        with transaction.atomic():
            return Authorization.objects.create(
                mode=Mode.LIVE,
                chain=request.spec.name,
                token=request.token,
                payer=request.signed.payer,
                nonce=request.signed.nonce,
                created_at=now,
                **values,
            )
    except IntegrityError:
        return _claim_known(merchant_id, request, values, now)


def _claim_known(
    merchant_id: int, request: StandardRequest, values: dict[str, Any], now: datetime
) -> Authorization:
    row = _rows(request).get()
    # What came to nothing before anything was sent may be tried again, and by another merchant.
    free = Q(state=AuthorizationState.FAILED, transaction=None) | (
        Q(state=AuthorizationState.TAKEN, merchant=merchant_id) & _is_free(now)
    )
    changed = values | {"state": AuthorizationState.TAKEN, "answer": None}
    if not Authorization.objects.filter(free, pk=row.pk).update(**changed):
        raise TakenElsewhereError
    row.refresh_from_db()
    return row


def take_over(row: Authorization, *, now: datetime) -> bool:
    """Take in hand what another process left lying; say whether it is ours now."""
    rows = Authorization.objects.filter(_is_free(now), pk=row.pk, state__in=_OPEN)
    taken = rows.update(taken_until=now + LEASE)
    if taken:
        row.refresh_from_db()
    return bool(taken)


def renew(row: Authorization, *, now: datetime) -> None:
    """Stay the one who has it in hand."""
    Authorization.objects.filter(pk=row.pk).update(taken_until=now + LEASE)


def release(row: Authorization) -> None:
    """Let others go on with it."""
    Authorization.objects.filter(pk=row.pk).update(taken_until=None)


def step_back(row: Authorization, *, now: datetime) -> None:
    """Look after others first, before this one is looked at again; whoever has it in hand by now keeps it."""
    rows = Authorization.objects.filter(pk=row.pk, state__in=_OPEN, taken_until=None)
    rows.update(taken_until=now)


def adopt(row: Authorization, made: GasTransaction, *, now: datetime) -> GasAttempt:
    """Write down which transaction carries an authorisation out; return its first attempt."""
    attempt = made.attempts.order_by("number")[0]
    row.transaction, row.tx_hash = made, attempt.tx_hash
    # Whoever was held up for longer than its lease may find that another one ended it.
    Authorization.objects.filter(pk=row.pk, state__in=_OPEN).update(
        transaction=made,
        tx_hash=attempt.tx_hash,
        state=AuthorizationState.SENT,
        taken_until=now + LEASE,
    )
    return attempt


def is_same(row: Authorization, merchant_id: int, request: StandardRequest) -> bool:
    """Whether a request is about the payment that the row is: the same merchant, resource, amount and place."""
    terms = _terms(merchant_id, request)
    return all(getattr(row, name) == value for name, value in terms.items())


def is_in_use(row: Authorization, *, now: datetime) -> bool:
    """Whether an authorisation bought something already, or is just about to."""
    if row.state == AuthorizationState.SETTLED:
        return True
    is_held = row.taken_until is not None and row.taken_until >= now
    return row.state != AuthorizationState.FAILED and is_held


def _rows(request: StandardRequest) -> QuerySet[Authorization]:
    return Authorization.objects.filter(
        mode=Mode.LIVE,
        chain=request.spec.name,
        token=request.token,
        payer=request.signed.payer,
        nonce=request.signed.nonce,
    )


def _terms(merchant_id: int, request: StandardRequest) -> dict[str, Any]:
    return {
        "merchant_id": merchant_id,
        "pay_to": request.pay_to,
        "units": request.units,
        "resource": request.resource,
    }


def _is_free(now: datetime) -> Q:
    return Q(taken_until=None) | Q(taken_until__lt=now)
