"""The rows of signed authorisations: each is leased for a few seconds to the request that carries it out.

The lease only saves work. The gas ledger ensures that nothing is sent twice: one authorisation is one transaction.
"""

from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from django.db import IntegrityError, transaction
from django.db.models import CharField, Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Cast

from accounts.states import Mode
from settlements.models import GasAttempt, GasTransaction
from settlements.states import Purpose, TransactionState
from x402.exact import answers, reasons
from x402.exact.errors import RefusedPaymentError, TakenElsewhereError
from x402.exact.inputs import StandardRequest
from x402.models import Authorization
from x402.payments.claims import KEPT, Caller
from x402.states import AuthorizationState

LEASE: Final = timedelta(seconds=5)

UNSENT_KEPT: Final = timedelta(days=7)
"""How long an authorisation without effect is kept."""

_LOOKED_AT_AGAIN: Final = timedelta(hours=1)
# Long after a network's last possible reorg.
_FORKS_END: Final = timedelta(days=1)
_OPEN: Final = (AuthorizationState.TAKEN, AuthorizationState.SENT)


def find(request: StandardRequest) -> Authorization | None:
    """Return the row of an authorisation."""
    return _rows(request).first()


def find_for(caller: Caller, request: StandardRequest) -> Authorization | None:
    """Return the row of an authorisation in a caller's mode."""
    return _rows_for(caller, request).first()


def left_open(*, now: datetime) -> QuerySet[Authorization]:
    """Return authorisations that were sent and have no current lease; recently checked ones last."""
    rows = Authorization.objects.filter(_is_free(now), state=AuthorizationState.SENT)
    looked_at = F("taken_until").asc(nulls_first=True)
    return rows.select_related("transaction__account", "payment").order_by(looked_at, "pk")


def mined_after_all(*, now: datetime) -> QuerySet[Authorization]:
    """Return authorisations that failed in a block that a reorg removed, and succeeded in another, final one."""
    rows = Authorization.objects.filter(
        state=AuthorizationState.FAILED,
        payment=None,
        transaction__isnull=False,
        created_at__gt=now - _FORKS_END,
        transaction__succeeded=True,
        transaction__state=TransactionState.MINED,
        transaction__mined_at__gt=now - _LOOKED_AT_AGAIN,
    )
    return rows.select_related("transaction__account", "payment").order_by("pk")


def claim(merchant_id: int, request: StandardRequest, *, now: datetime) -> Authorization:
    """Lease an authorisation, creating its row if it is new.

    Raises TakenElsewhereError, and RefusedPaymentError where the payer's id is another payment's.
    """
    values = _terms(merchant_id, request) | {"taken_until": now + LEASE, "pending": facts_of(request)}
    values |= {"identifier": request.identifier}
    try:
        with transaction.atomic():
            _free_identifier(merchant_id, request, now=now)
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


def _claim_known(merchant_id: int, request: StandardRequest, values: dict[str, Any], now: datetime) -> Authorization:
    row = _rows(request).first()
    # An authorisation that failed before anything was sent may be tried again, also by another merchant.
    failed = Q(state=AuthorizationState.FAILED, transaction=None, tx_hash="")
    free = failed | (Q(state=AuthorizationState.TAKEN, merchant=merchant_id) & _is_free(now))
    changed = values | {"state": AuthorizationState.TAKEN, "answer": None}
    # The time for which it blocks a similar transfer counts from now.
    changed |= {"created_at": now}
    if row is None and request.identifier and _others_named(merchant_id, Mode.LIVE, request).exists():
        raise refused_identifier(request)
    if row is None or not _changed(merchant_id, request, free, changed, now):
        raise TakenElsewhereError
    row.refresh_from_db()
    if row.tx_hash or not is_same(row, merchant_id, request):
        # The previous holder was only slow, and sent it just now; or another request took it since, perhaps for another amount.
        raise TakenElsewhereError
    return row


def _changed(merchant_id: int, request: StandardRequest, free: Q, changed: dict[str, Any], now: datetime) -> int:
    """Write what an authorisation is taken for now, if it is free; return how many were. Raises RefusedPaymentError."""
    try:
        with transaction.atomic():
            _free_identifier(merchant_id, request, now=now)
            return _rows(request).filter(free).update(**changed)
    except IntegrityError:
        raise refused_identifier(request) from None


def has_others_identifier(caller: Caller, request: StandardRequest, *, now: datetime) -> bool:
    """Return whether a payer's id is another payment's, for which something was sent or may be sent just now."""
    others = _others_named(caller.merchant_id, caller.mode, request)
    return request.identifier is not None and others.exclude(_is_unsent(now)).exists()


def refused_identifier(request: StandardRequest) -> RefusedPaymentError:
    """Return what refuses a second payment under one of the payer's ids."""
    told = "The payer used this payment identifier for another payment."
    return RefusedPaymentError(reasons.ANOTHERS_IDENTIFIER, told, payer=request.signed.payer)


def _free_identifier(merchant_id: int, request: StandardRequest, *, now: datetime) -> None:
    """Take a payer's id from a payment of which nothing came, and end that one: a holder that was only slow sends nothing then."""
    if request.identifier is None:
        return
    refused = refused_identifier(request)
    told = answers.unsettled(refused.reason, refused.message, network=request.network, payer=refused.payer)
    ended = {"state": AuthorizationState.FAILED, "taken_until": None, "answer": told}
    others = _others_named(merchant_id, Mode.LIVE, request)
    others.filter(_is_left(now)).update(**ended)
    others.filter(state=AuthorizationState.FAILED).update(identifier=None)


def _others_named(merchant_id: int, mode: Mode, request: StandardRequest) -> QuerySet[Authorization]:
    signed = request.signed
    # An id is its payer's own: others that know it can neither use it up nor free it.
    rows = Authorization.objects.filter(
        merchant=merchant_id, mode=mode, payer=signed.payer, identifier=request.identifier
    )
    return rows.exclude(chain=request.spec.name, token=request.token, payer=signed.payer, nonce=signed.nonce)


def _is_unsent(now: datetime) -> Q:
    """SQL condition: it failed, or its holder died before anything was sent."""
    return _is_left(now) | Q(state=AuthorizationState.FAILED)


def _is_left(now: datetime) -> Q:
    """SQL condition: its holder died before anything was sent, and the ledger has nothing to send for it either."""
    return Q(state=AuthorizationState.TAKEN, transaction=None, tx_hash="") & _is_free(now) & ~Q(_in_ledger())


def _in_ledger() -> Exists:
    """SQL condition: the gas ledger has a transaction for an authorisation that may still have its effect."""
    reference = Cast(OuterRef("pk"), CharField())
    made = GasTransaction.objects.filter(purpose=Purpose.X402, reference=reference)
    # Only the index of those that are not dropped begins with the purpose and the reference.
    return Exists(made.exclude(state=TransactionState.DROPPED))


def take_over(row: Authorization, *, now: datetime) -> bool:
    """Lease an authorisation that another process abandoned; return whether we got it."""
    rows = Authorization.objects.filter(_is_free(now), pk=row.pk, state__in=_OPEN)
    taken = rows.update(taken_until=now + LEASE)
    if taken:
        row.refresh_from_db()
    return bool(taken)


def release(row: Authorization) -> None:
    """End the lease, so that others can continue."""
    Authorization.objects.filter(pk=row.pk).update(taken_until=None)


def step_back(row: Authorization, *, now: datetime) -> None:
    """Move this one behind others in the order of checks; a current holder keeps it."""
    rows = Authorization.objects.filter(pk=row.pk, state__in=_OPEN, taken_until=None)
    rows.update(taken_until=now)


def forget_unsent(*, now: datetime) -> int:
    """Delete authorisations that came to nothing a week ago, before anything was sent; return how many.

    A new request would start again with or without the row. Not so where a maximum was ended with nothing: its nonce is unused,
    and only the row keeps it from being charged. That row is deleted a week after the signature has run out.
    """
    week_ago = now - UNSENT_KEPT
    ended = Q(state=AuthorizationState.SETTLED, units=0, most_units__gt=0)
    ended &= Q(pending__valid_before__lt=int(week_ago.timestamp()))
    rows = Authorization.objects.filter(
        _is_free(now),
        ~_in_ledger(),
        ended | Q(state__in=(AuthorizationState.TAKEN, AuthorizationState.FAILED)),
        transaction=None,
        tx_hash="",
        payment=None,
        created_at__lt=week_ago,
    )
    return rows.delete()[0]


def adopt(row: Authorization, made: GasTransaction, *, now: datetime) -> GasAttempt:
    """Store the transaction that carries an authorisation out; return its first attempt. Raises TakenElsewhereError."""
    attempt = made.attempts.order_by("number")[0]
    _write_sent(row, {"transaction": made, "tx_hash": attempt.tx_hash}, now)
    row.transaction, row.tx_hash = made, attempt.tx_hash
    return attempt


def disown(row: Authorization, made: GasTransaction) -> None:
    """Detach a transaction that certainly no node has: the authorisation may be begun anew."""
    rows = Authorization.objects.filter(pk=row.pk, transaction=made, state=AuthorizationState.SENT, payment=None)
    unsent = {"state": AuthorizationState.TAKEN, "transaction": None, "tx_hash": ""}
    rows.update(**unsent, taken_until=None)
    row.transaction, row.tx_hash = None, ""


def keep_signed(row: Authorization, *, now: datetime) -> None:
    """Store the whole transaction that carries an authorisation out, before it is sent (Solana).

    Raises TakenElsewhereError.
    """
    names = ("signed", "network_fee", "tx_hash")
    _write_sent(row, {name: getattr(row, name) for name in names}, now)


def _write_sent(row: Authorization, values: dict[str, Any], now: datetime) -> None:
    # A request held up longer than its lease may find that another one ended it: then nothing may be sent, because no
    # process would follow it. Or that another one began it anew with another amount (scheme `upto`): only that is sent.
    rows = Authorization.objects.filter(pk=row.pk, state__in=_OPEN, units=row.units)
    sent = {"state": AuthorizationState.SENT, "taken_until": now + LEASE}
    if not rows.update(**values, **sent):
        raise TakenElsewhereError


def is_same(row: Authorization, merchant_id: int, request: StandardRequest) -> bool:
    """Whether a request is about the row's payment: the same merchant, resource, amount and place.

    Where nothing is charged, it is the same signature too: a payer may sign one nonce twice, and the row ends one of the two.
    """
    terms = _terms(merchant_id, request)
    return _has_time_of(row, request) and all(getattr(row, name) == value for name, value in terms.items())


def facts_of(request: StandardRequest) -> dict[str, int]:
    """Return what a row keeps of its request: the standard's version, and of a maximum until when the signature holds."""
    version = {"version": request.version}
    return version | {"valid_before": request.signed.valid_before} if request.is_upto else version


class Success(NamedTuple):
    """When the one success of an authorisation was claimed, and for which resource with a receipt; "" for none."""

    at: datetime
    receipt_for: str


def claim_success(caller: Caller, request: StandardRequest, *, receipt_for: str, now: datetime) -> Success | None:
    """Claim the one `success` of a settled authorisation; return the claim, None if this request may not have it.

    A request with the same Idempotency-Key as the first may, for seven days: it gets the claim of the first.
    """
    rows = _rows_for(caller, request)
    # The database locks the row and reads it again, so only one of several requests finds it unclaimed.
    if rows.filter(served_at=None).update(served_at=now, served_key=caller.key, receipt_for=receipt_for):
        return Success(now, receipt_for)
    if not caller.key:
        return None
    repeated = rows.filter(served_key=caller.key, served_at__gte=now - KEPT).first()
    return Success(repeated.served_at, repeated.receipt_for) if repeated and repeated.served_at else None


def give_back_success(caller: Caller, request: StandardRequest, *, now: datetime) -> None:
    """Take back the success that a request claimed at `now`, because its seller closed the connection."""
    claimed = _rows_for(caller, request).filter(served_at=now, served_key=caller.key)
    claimed.update(served_at=None, served_key="", receipt_for="")


def may_begin_anew(row: Authorization, *, now: datetime) -> bool:
    """Whether nothing was sent for an authorisation, and its holder failed or died."""
    if row.transaction_id is not None or row.tx_hash:
        return False
    is_left = row.state == AuthorizationState.TAKEN and not _is_held(row, now)
    return is_left or row.state == AuthorizationState.FAILED


def has_ended(row: Authorization) -> bool:
    """Whether an authorisation's response is final. One that a reorg reopened before it was served is waited for again."""
    return row.answer is not None and not (row.state == AuthorizationState.SENT and row.served_at is None)


def is_unanswered(row: Authorization) -> bool:
    """Whether an authorisation was sent or settled, but no settle request got `success` yet."""
    is_sent = row.state in (AuthorizationState.SENT, AuthorizationState.SETTLED)
    return is_sent and row.served_at is None


def _rows_for(caller: Caller, request: StandardRequest) -> QuerySet[Authorization]:
    rows = _rows(request, caller.mode)
    # Simulated ones are separate for each merchant.
    return rows.filter(merchant=caller.merchant_id) if caller.mode == Mode.TEST else rows


def _rows(request: StandardRequest, mode: Mode = Mode.LIVE) -> QuerySet[Authorization]:
    return Authorization.objects.filter(
        mode=mode, chain=request.spec.name, token=request.token, payer=request.signed.payer, nonce=request.signed.nonce
    )


def _terms(merchant_id: int, request: StandardRequest) -> dict[str, Any]:
    return {
        "merchant_id": merchant_id,
        "pay_to": request.pay_to,
        "units": request.units,
        "most_units": request.most_units,
        "resource": request.resource,
    }


def _has_time_of(row: Authorization, request: StandardRequest) -> bool:
    if row.units or row.most_units is None:
        return True
    return (row.pending or {}).get("valid_before") in (None, request.signed.valid_before)


def _is_held(row: Authorization, now: datetime) -> bool:
    return row.taken_until is not None and row.taken_until >= now


def _is_free(now: datetime) -> Q:
    return Q(taken_until=None) | Q(taken_until__lt=now)
