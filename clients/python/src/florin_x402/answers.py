"""Builds responses for payers: one 402 in all three forms at once, and the headers of paid responses."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from florin_x402.catalogue import Kind, Option
from florin_x402.prices import Asked, Price
from florin_x402.wire import encode

Headers = list[tuple[str, str]]

EXPOSED: Final = "X-PAYMENT-REQUIRED, PAYMENT-REQUIRED, X-PAYMENT-RESPONSE, PAYMENT-RESPONSE, WWW-Authenticate, Payment-Receipt, Retry-After"

# Caches must not serve a price or a paid response to another client.
PRIVATE: Final = (("Cache-Control", "no-store, private"),)
_OPEN: Final = (("Access-Control-Expose-Headers", EXPOSED),)
# Caches of CDNs and proxies obey these before Cache-Control, or instead of it.
_REPLACED: Final = frozenset({"expires", "pragma", "surrogate-control", "edge-control", "x-accel-expires"})


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete response by the middleware; the application is not called."""

    status: int
    headers: Headers
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a request is not served yet: a code, a sentence, and the seconds until a retry may succeed.

    With `members` of RFC 9457 its answer is a problem document.
    """

    reason: str
    message: str
    retry_after: int | None = None
    members: Mapping[str, Any] = field(default_factory=dict)


def payment_required(
    asked: Asked,
    price: Price,
    options: Sequence[Option],
    problem: Problem,
    extensions: Mapping[str, Any],
    others: Headers,
) -> Answer:
    """Return the 402: the specification's header, the standard's second version's header, and its first one's body.

    Only the second version has `extensions`. `others` are what other protocols ask with.
    """
    first = {"x402Version": 1, "error": problem.message, "accepts": requirements(asked, price, options, 1)}
    second = {
        "x402Version": 2,
        "error": problem.message,
        "resource": resource_of(asked, price),
        "accepts": requirements(asked, price, options, 2),
    }
    if extensions:
        second["extensions"] = dict(extensions)
    told = {"reason": problem.reason, "retryAfter": problem.retry_after}
    headers: Headers = [
        ("X-PAYMENT-REQUIRED", encode(plain_requirements(price, options[0]))),
        ("PAYMENT-REQUIRED", encode(second)),
        *others,
    ]
    return _answer(402, first | told, headers, problem)


def unavailable(problem: Problem) -> Answer:
    """Return the response if a payment's state is unknown: the same request may be repeated."""
    return refusal(503, problem)


def refusal(status: int, problem: Problem) -> Answer:
    """Return a response that names no price."""
    body = {"error": problem.message, "reason": problem.reason}
    return _answer(status, body | {"retryAfter": problem.retry_after}, [], problem)


def plain_requirements(price: Price, option: Option) -> dict[str, str]:
    """Return the one option that the specification's header has."""
    return {"payTo": option.pay_to, "maxAmountRequired": price.text, "asset": option.token, "network": option.chain}


def requirements(asked: Asked, price: Price, options: Sequence[Option], version: int) -> list[dict[str, Any]]:
    """Return the `accepts` list of a version of the standard.

    A payer of version 1 does not say which token it pays in, so there is one for each network.
    """
    found: dict[str, dict[str, Any]] = {}
    for option in options:
        kind = option.kind(version)
        if kind is not None:
            name = kind.network if version == 1 else f"{kind.network} {option.token}"
            found.setdefault(name, requirement(asked, price, option, kind))
    return list(found.values())


def requirement(asked: Asked, price: Price, option: Option, kind: Kind) -> dict[str, Any]:
    """Return one of `accepts`, which is also what the facilitator is asked about."""
    shared = {
        "scheme": "exact",
        "network": kind.network,
        "asset": option.asset,
        "payTo": option.pay_to,
        "maxTimeoutSeconds": price.seconds,
        "extra": dict(kind.extra),
    }
    if kind.version == 2:
        return shared | {"amount": str(price.units)}
    described = {"description": price.description, "mimeType": price.mime_type}
    amount = {"maxAmountRequired": str(price.units), "resource": asked.url}
    return shared | amount | described


def resource_of(asked: Asked, price: Price) -> dict[str, Any]:
    """Return the resource description of the standard's version 2."""
    told = {"url": asked.url, "description": price.description, "mimeType": price.mime_type}
    described = price.listing.described() if price.listing else {}
    return {name: value for name, value in told.items() if value} | described


def merged(own: Headers, ours: Headers) -> Headers:
    """Return the application's headers with ours. Our cache headers win; headers exposed by CORS stay exposed."""
    exposes = "access-control-expose-headers"
    kept = [(name, value) for name, value in own if not _is_for_caches(name) and name.lower() != exposes]
    theirs = [value for name, value in own if name.lower() == exposes]
    added = [one for one in ours if one[0].lower() != exposes]
    return [*kept, *added, (_OPEN[0][0], ", ".join([*theirs, EXPOSED]))]


def _is_for_caches(name: str) -> bool:
    """Whether a header tells caches how long to keep a response; RFC 9213 names them such as CDN-Cache-Control."""
    low = name.lower()
    return low in _REPLACED or low.endswith("cache-control")


def _answer(status: int, body: dict[str, Any], headers: Headers, problem: Problem) -> Answer:
    content = json.dumps({**body, **problem.members}).encode()
    late = [("Retry-After", str(problem.retry_after))] if problem.retry_after is not None else []
    whole: Headers = [
        ("Content-Type", "application/problem+json" if problem.members else "application/json"),
        ("Content-Length", str(len(content))),
        *PRIVATE,
        *_OPEN,
        *late,
        *headers,
    ]
    return Answer(status, whole, content)
