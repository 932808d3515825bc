"""Notes API requests by key: a process keeps notes for a second and writes them together. No request waits for that."""

from collections import deque
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from time import perf_counter
from typing import Any, Final, NamedTuple

import structlog
from django.db import connection, transaction
from django.db.utils import DatabaseError, InterfaceError
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from accounts.keys.authentication import Principal
from accounts.models import REQUEST_PATH_LENGTH, REQUEST_SLOTS
from gateway.core.web.parked_views import later_of, visit_of
from gateway.core.web.request_times import method_of

log = structlog.get_logger(__name__)

KEPT: Final = timedelta(days=7)
"""So long requests are kept at least, and shown."""

_MOST_WAITING: Final = 10_000
_MOST_AT_ONCE: Final = 2_000
_LOCK_SECONDS: Final = 2
_BEGAN: Final = "began"

_INSERT: Final = """
    INSERT INTO accounts_apirequest
        (slot, merchant_id, mode, key_id, request_id, method, path, status, code, milliseconds, asked_at)
    SELECT * FROM unnest(
        %(slot)b::smallint[], %(merchant_id)b::bigint[], %(mode)b::text[], %(key_id)b::text[], %(request_id)b::text[],
        %(method)b::text[], %(path)b::text[], %(status)b::smallint[], %(code)b::text[], %(milliseconds)b::int[],
        %(asked_at)b::timestamptz[])
"""


class _LogRow(NamedTuple):
    """A row of the table."""

    slot: int
    merchant_id: int
    mode: str
    key_id: str
    request_id: str
    method: str
    path: str
    status: int
    code: str
    milliseconds: int
    asked_at: datetime


# Beyond its length the oldest notes are dropped: a database that does not answer must not fill the memory.
_waiting: Final[deque[_LogRow]] = deque(maxlen=_MOST_WAITING)


class ApiRequestsMiddleware:
    """Notes each answered API request that had a valid key, with its path, and without its query string and bodies."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request."""
        began = _began(request)
        response = self.get_response(request)
        principal: Principal | None = getattr(request, "principal", None)
        if principal is not None and later_of(response) is None:
            _waiting.append(_note(request, response, principal, perf_counter() - began))
        return response


def _began(request: HttpRequest) -> float:
    """Return when the request's first visit began: a view that waits is called again."""
    visit = visit_of(request)
    now = perf_counter()
    return now if visit is None else float(visit.setdefault(_BEGAN, now))


def _note(request: HttpRequest, response: HttpResponse, principal: Principal, seconds: float) -> _LogRow:
    now = timezone.now()
    return _LogRow(
        slot=_slot_of(now),
        merchant_id=principal.merchant_id,
        mode=principal.mode,
        key_id=principal.key_id,
        request_id=response["X-Request-Id"],
        method=method_of(request),
        path=request.path_info[:REQUEST_PATH_LENGTH].replace("\0", ""),
        status=response.status_code,
        code=_code_of(response),
        milliseconds=round(seconds * 1000),
        asked_at=now,
    )


def _code_of(response: HttpResponse) -> str:
    """Return the code of an error's answer; "" for any other."""
    if response.status_code < 400:
        return ""
    answer: Any = getattr(response, "data", None)
    code = answer["error"].get("code") if isinstance(answer, dict) and "error" in answer else None
    return code or ""


def is_waiting() -> bool:
    """Return whether this process has notes to write."""
    return bool(_waiting)


def write_notes() -> int:
    """Write this process's notes; return how many. If the database refuses them they are lost, and the log says so."""
    notes = list(_taken())
    if not notes:
        return 0
    columns = dict(zip(_LogRow._fields, map(list, zip(*notes, strict=True)), strict=True))
    try:
        with connection.cursor() as cursor:
            cursor.execute(_INSERT, columns)
    except (DatabaseError, InterfaceError):
        log.warning("API requests not noted", requests=len(notes), exc_info=True)
        connection.close()
        return 0
    return len(notes)


def _taken() -> Iterator[_LogRow]:
    """Take notes that wait. Several threads may do so at once."""
    for _ in range(_MOST_AT_ONCE):
        try:
            yield _waiting.popleft()
        except IndexError:
            return


def _slot_of(moment: datetime) -> int:
    """Return the partition of a UTC day. Days take them in turn."""
    return moment.toordinal() % REQUEST_SLOTS


def forget_old(*, now: datetime) -> None:
    """Empty the partition that tomorrow's requests go to: it has those of eight days ago."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL lock_timeout = '{_LOCK_SECONDS}s'")
        cursor.execute(f"TRUNCATE accounts_apirequest_{_slot_of(now + timedelta(days=1))}")
