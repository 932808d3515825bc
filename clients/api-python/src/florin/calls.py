"""One call of the API: its request, its repeats, and what its answer means."""

import json
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final, Self, TypedDict, Unpack
from urllib.parse import quote, urlencode
from uuid import uuid4

from florin.errors import ApiError, FlorinError, NoAnswerError
from florin.pages import Pages
from florin.transport import Reply, Request, Sender

_PREFIX: Final = "/api/v1"
_LONGEST_WAIT: Final = 60.0


class Given(TypedDict, total=False):
    """What an operation has beside its method and path. `own` is the field of the body that makes a repeat safe."""

    body: Mapping[str, Any] | None
    query: Mapping[str, Any] | None
    key: str | None
    own: str
    takes_key: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """A call that is ready to be sent. `has_own` says that its body names itself, by `order_ref` or `reference`."""

    request: Request
    has_own: bool


@dataclass(frozen=True, slots=True)
class Terms:
    """How calls are made, by waiting or not. `wait` is the first pause before a repeat in seconds; each further one is twice as long."""

    root: str
    # Not shown: reports of errors print local variables.
    headers: Mapping[str, str] = field(repr=False)
    retries: int
    wait: float

    def asked(self, method: str, path: tuple[str, ...], **given: Unpack[Given]) -> Asked:
        """Return what to send. Raises ValueError for an id or a key that cannot be one."""
        headers = dict(self.headers)
        body, key, own = given.get("body"), given.get("key"), given.get("own", "")
        named = body.get(own) if own and body else None
        # The server refuses what is no text.
        has_own = isinstance(named, str) and named != ""
        if given.get("takes_key") and (key is not None or not has_own):
            headers["Idempotency-Key"] = _checked(key) if key is not None else str(uuid4())
        content = None if body is None else json.dumps(body).encode()
        if content is not None:
            headers["Content-Type"] = "application/json"
        repeat = method == "GET" or has_own or "Idempotency-Key" in headers
        whole = self.root + _PREFIX + _filled(path) + _query(given.get("query") or {})
        return Asked(Request(method, whole, headers, content, repeat), has_own)

    def pause(self, asked: Asked, error: FlorinError, number: int) -> float | None:
        """Return how long to wait after try `number` (0, 1, ...) failed; None where there is no other one, and `error` is to be raised."""
        pause = None
        if number < self.retries and asked.request.repeat:
            if isinstance(error, NoAnswerError):
                pause = self._pause(number)
            elif isinstance(error, ApiError):
                pause = self._pause_after(error, number, own=asked.has_own)
        if pause is None:
            error.idempotency_key = asked.request.headers.get("Idempotency-Key")
        return pause

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


@dataclass(frozen=True, slots=True)
class Caller:
    """Sends calls, and waits for each answer."""

    sender: Sender
    terms: Terms

    def call(self, asked: Asked, *, raw: bool) -> Any:
        """Send a request, again where that is safe and may help, and return its answer. Raises FlorinError."""
        for number in count():
            try:
                return answer_of(self.sender.send(asked.request), raw=raw)
            except FlorinError as error:
                if (pause := self.terms.pause(asked, error, number)) is None:
                    raise
            time.sleep(pause)
        raise AssertionError


class Resource:
    """Operations that share a path."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    @classmethod
    def of(cls, other: "Resource") -> Self:
        """Return the resource with the connections of another."""
        return cls(other._caller)  # noqa: SLF001 - its own kind

    def _call(self, method: str, path: tuple[str, ...], *, raw: bool = False, **given: Unpack[Given]) -> Any:
        return self._caller.call(self._caller.terms.asked(method, path, **given), raw=raw)

    def _pages(self, path: tuple[str, ...], query: Mapping[str, Any]) -> Pages[Any]:
        return Pages(lambda asked: self._call("GET", path, query=asked), query)


def answer_of(reply: Reply, *, raw: bool) -> Any:
    """Return what a response says. Raises ApiError, and NoAnswerError for one that cannot be read."""
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


def _query(query: Mapping[str, Any]) -> str:
    told = {name.rstrip("_"): _text(value) for name, value in query.items() if value is not None}
    return f"?{urlencode(told)}" if told else ""


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _checked(key: str) -> str:
    if not key or not key.isascii() or not key.isprintable():
        raise ValueError("An Idempotency-Key is printable ASCII.")
    return key
