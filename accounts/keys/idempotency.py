"""The Idempotency-Key of a POST: its first answer is kept with what the request changed, and given again.

The row of a key is written first, in the transaction of the whole request. Its unique constraint lets a second request with
the key wait until the first one is committed, and then read its answer. An error undoes the row too: it is not kept, so a
corrected request may use the key again. A request that asks nodes is in no transaction: its answer is kept afterwards.

x402's verify and settle keep answers in a table of their own, `x402.models.KeptAnswer`: the statement that uses a payment up
inserts the row, and a release that still runs knows no other table.
"""

import hashlib
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, Final

from django.conf import settings
from django.db import connection, transaction
from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import IdempotencyKey, IdempotentRequest
from accounts.states import Mode
from gateway.core import json
from gateway.core.api.errors import ConflictError, InvalidRequestError
from gateway.core.api.idempotency import HEADER, IN_META, LONGEST, REPLAYED
from gateway.core.api.wire import JsonRenderer
from gateway.core.secrets import SecretUnreadableError, seal, unseal

KEPT: Final = timedelta(hours=24)
"""How long an answer is kept. docs/guide/idempotency.md and the OpenAPI document say so."""

_BATCH: Final = 1_000
# How each Fernet token begins, and no JSON.
_SEALED: Final = b"gAAAA"

# An older row that no task has deleted yet counts as absent. The row is locked even where nothing is written.
_TAKE: Final = """
    INSERT INTO accounts_idempotencykey AS kept (merchant_id, mode, key, digest, status, body, created_at)
    VALUES (%(merchant)s, %(mode)s, %(key)s, %(digest)s::bytea, 0, ''::bytea, %(now)s::timestamptz)
    ON CONFLICT (merchant_id, mode, key) DO UPDATE
        SET digest = EXCLUDED.digest, status = 0, body = ''::bytea, created_at = EXCLUDED.created_at
        WHERE kept.created_at <= %(ended_by)s::timestamptz
    RETURNING id
"""


def idempotency_key(request: Request, *, longest: int = LONGEST) -> str:
    """Return a request's key, "" if it has no such header. Raises InvalidRequestError."""
    # `request.headers` would rebuild every header.
    key: str | None = request.META.get(IN_META)
    if key is None:
        return ""
    if not 1 <= len(key) <= longest or not key.isprintable():
        raise InvalidRequestError(f"{HEADER} must be 1 to {longest} printable characters.", param=HEADER)
    return key


def answer_once(
    merchant_id: int,
    mode: Mode,
    request: Request,
    work: Callable[[], Response],
    *,
    now: datetime,
    longest: int = LONGEST,
) -> Response:
    """Return the response of `work`, which runs in one transaction with its row, or the one kept under the request's key.

    Without a key it only calls `work`, which raises each error that it answers, and asks no node, because others wait for its
    row. Raises InvalidRequestError, and ConflictError: duplicate where the key was used for another path or body, state_conflict
    where ENCRYPTION_KEYS no longer open the answer.
    """
    key = idempotency_key(request, longest=longest)
    if not key:
        return work()
    digest = _digest(request)
    with transaction.atomic():
        taken = _take(merchant_id, mode, key, digest, now)
        if taken is None:
            return _again(IdempotencyKey.objects.get(merchant=merchant_id, mode=mode, key=key), digest)
        response = work()
        _keep(taken, response)
    return response


def answer_repeatable(
    merchant_id: int, mode: Mode, request: Request, work: Callable[[], Response], *, now: datetime
) -> Response:
    """Return the same as `answer_once`, for `work` that asks nodes and is safe to repeat: it runs in no transaction.

    What it sends must be stored before, whatever becomes of the answer, and nobody may wait for a row while nodes are asked. So its
    answer is kept afterwards: of several requests at once with one key, all get the answer that was kept first.
    """
    key = idempotency_key(request)
    if not key:
        return work()
    digest = _digest(request)
    if (kept := _valid(merchant_id, mode, key, now).first()) is not None:
        return _again(kept, digest)
    response = work()
    with transaction.atomic():
        taken = _take(merchant_id, mode, key, digest, now)
        if taken is None:
            return _again(IdempotencyKey.objects.get(merchant=merchant_id, mode=mode, key=key), digest)
        _keep(taken, response)
    return response


def _again(kept: IdempotencyKey, digest: bytes) -> Response:
    """Return the kept response. Raises ConflictError for another request."""
    refuse_another(kept, digest)
    return Response(_opened(bytes(kept.body)), status=kept.status, headers={REPLAYED: "true"})


def _keep(taken: int, response: Response) -> None:
    # Written once, so that the first client gets the bytes that are kept.
    response.data = JsonRenderer().render(response.data)
    IdempotencyKey.objects.filter(pk=taken).update(status=response.status_code, body=_closed(response.data))


def has_answer(merchant_id: int, mode: Mode, request: Request, *, now: datetime) -> bool:
    """Return whether the request's key was used already, so that `answer_once` does no work. Raises InvalidRequestError."""
    key = idempotency_key(request)
    return bool(key) and _valid(merchant_id, mode, key, now).exists()


def _valid(merchant_id: int, mode: Mode, key: str, now: datetime) -> QuerySet[IdempotencyKey]:
    """Return the row of a key that was used and is still kept, if there is one."""
    return IdempotencyKey.objects.filter(merchant=merchant_id, mode=mode, key=key, created_at__gt=now - KEPT)


def _closed(answer: bytes) -> bytes:
    """Return an answer as it is stored: the secret of a webhook endpoint may be in it. Without ENCRYPTION_KEYS there is none."""
    return seal(answer.decode()) if settings.ENCRYPTION_KEYS else answer


def _opened(stored: bytes) -> bytes:
    if not stored.startswith(_SEALED):
        return stored
    try:
        return unseal(stored).encode()
    except SecretUnreadableError as error:
        raise ConflictError(f"This {HEADER} was used, and its answer can no longer be read.") from error


def _take(merchant_id: int, mode: Mode, key: str, digest: bytes, now: datetime) -> int | None:
    """Insert the row of a key, and return its id; None where the key is in use. Waits for a request that has it."""
    parameters: dict[str, Any] = {
        "merchant": merchant_id,
        "mode": mode,
        "key": key,
        "digest": digest,
        "now": now,
        "ended_by": now - KEPT,
    }
    with connection.cursor() as cursor:
        cursor.execute(_TAKE, parameters)
        taken = cursor.fetchone()
    return None if taken is None else int(taken[0])


def _digest(request: Request) -> bytes:
    """Return the digest of a request's path and body. JSON counts as the same in another order and with other blanks."""
    body = request.body
    with suppress(json.NotJsonError):
        body = json.canonical(json.loads(body))
    return hashlib.sha256(request.path.encode() + b"\n" + body).digest()


def refuse_another(kept: IdempotentRequest, digest: bytes) -> None:
    """Raise ConflictError (duplicate) where a key was used for another request."""
    if bytes(kept.digest) != digest:
        raise ConflictError(f"This {HEADER} was used for another request.", code="duplicate")


def forget_answers(old: "QuerySet[Any]") -> int:
    """Delete kept answers, chosen by their age, some at once; return how many."""
    forgotten = 0
    while ids := list(old.order_by("created_at").values_list("pk", flat=True)[:_BATCH]):
        # Still by their age: a request may have taken an old row since.
        deleted, _ = old.filter(pk__in=ids).delete()
        forgotten += deleted
    return forgotten


def forget_old_keys(*, now: datetime) -> int:
    """Delete keys whose answer is kept no longer; return how many."""
    return forget_answers(IdempotencyKey.objects.filter(created_at__lte=now - KEPT))
