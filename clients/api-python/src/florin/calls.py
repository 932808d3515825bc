"""One call of the API: its request, its repeats, and what its answer means."""

import json
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self
from urllib.parse import quote, urlencode
from uuid import uuid4

from florin.errors import ApiError, FlorinError, NoAnswerError
from florin.pages import Pages
from florin.transport import Reply, Request, Sender

_PREFIX: Final = "/api/v1"
_LONGEST_WAIT: Final = 60.0


@dataclass(frozen=True, slots=True)
class Caller:
    """Sends calls. `wait` is the first pause before a repeat in seconds; each further one is twice as long."""

    sender: Sender
    root: str
    # Not shown: reports of errors print local variables.
    headers: Mapping[str, str] = field(repr=False)
    retries: int
    wait: float

    def call(self, request: Request, *, own: bool, raw: bool) -> Any:
        """Send a request, again where that is safe and may help, and return its answer. Raises FlorinError."""
        try:
            return self._repeated(request, own=own, raw=raw)
        except FlorinError as error:
            error.idempotency_key = request.headers.get("Idempotency-Key")
            raise

    def _repeated(self, request: Request, *, own: bool, raw: bool) -> Any:
        tries = self.retries + 1 if request.repeat else 1
        for number in range(tries):
            try:
                return _answer(self.sender.send(request), raw=raw)
            except NoAnswerError:
                if number == tries - 1:
                    raise
                pause = self._pause(number)
            except ApiError as error:
                told = self._pause_after(error, number, own=own)
                if number == tries - 1 or told is None:
                    raise
                pause = told
            time.sleep(pause)
        raise AssertionError

    def _pause(self, number: int) -> float:
        # Half of it is chance, so that programs that failed together do not come back together.
        return float(self.wait * 2**number * (0.5 + random.random() / 2))  # noqa: S311 - no secret

    def _pause_after(self, error: ApiError, number: int, *, own: bool) -> float | None:
        """Return how long to wait before a repeat; None where it would not help."""
        # A concurrent request with the same reference may still be creating the object.
        is_race = own and error.status == 409 and error.code == "state_conflict"
        if not is_race and error.status != 429 and error.status < 500:
            return None
        pause = self._pause(number) if error.retry_after is None else float(error.retry_after)
        return pause if pause <= _LONGEST_WAIT else None


class Resource:
    """Operations that share a path."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    @classmethod
    def of(cls, other: "Resource") -> Self:
        """Return the resource with the connections of another."""
        return cls(other._caller)  # noqa: SLF001 - its own kind

    def _call(
        self,
        method: str,
        path: tuple[str, ...],
        *,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, Any] | None = None,
        key: str | None = None,
        own: str = "",
        takes_key: bool = False,
        raw: bool = False,
    ) -> Any:
        headers = dict(self._caller.headers)
        named = body.get(own) if own and body else None
        # The server refuses what is no text.
        has_own = isinstance(named, str) and named != ""
        if takes_key and (key is not None or not has_own):
            headers["Idempotency-Key"] = _checked(key) if key is not None else str(uuid4())
        content = None if body is None else json.dumps(body).encode()
        if content is not None:
            headers["Content-Type"] = "application/json"
        repeat = method == "GET" or has_own or "Idempotency-Key" in headers
        whole = self._caller.root + _PREFIX + _filled(path) + _asked(query or {})
        return self._caller.call(Request(method, whole, headers, content, repeat), own=has_own, raw=raw)

    def _pages(self, path: tuple[str, ...], query: Mapping[str, Any]) -> Pages[Any]:
        return Pages(lambda asked: self._call("GET", path, query=asked), query)


def _answer(reply: Reply, *, raw: bool) -> Any:
    if not 200 <= reply.status < 300:
        raise ApiError(reply.status, reply.headers, reply.body)
    if raw:
        return reply.body
    if reply.status == 204:
        return None
    try:
        found = json.loads(reply.body)
    except (ValueError, RecursionError) as error:
        raise NoAnswerError("The answer is not JSON.") from error
    if not isinstance(found, dict):
        raise NoAnswerError("The answer is no JSON object.")
    return found


def _filled(path: tuple[str, ...]) -> str:
    """Return the path with its ids. Raises ValueError for one that would make another path."""
    pattern, *ids = path
    if any(not each or each in {".", ".."} for each in ids):
        raise ValueError("An id is empty or no id.")
    return pattern.format(*(quote(each, safe="") for each in ids))


def _asked(query: Mapping[str, Any]) -> str:
    told = {name.rstrip("_"): _text(value) for name, value in query.items() if value is not None}
    return f"?{urlencode(told)}" if told else ""


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _checked(key: str) -> str:
    if not key or not key.isascii() or not key.isprintable():
        raise ValueError("An Idempotency-Key is printable ASCII.")
    return key
