"""Verifies webhooks: the headers `webhook-id`, `webhook-timestamp` and `webhook-signature`, else `X-Service-Signature`."""

import hmac
import json
import time
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, cast

from florin.errors import OtherModeError, SignatureError
from florin.types import EventBody

TOLERANCE_SECONDS: Final = 300
_PREFIX: Final = "whsec_"


def construct(
    body: bytes,
    headers: Mapping[str, str],
    secrets: str | Sequence[str],
    *,
    livemode: bool | None = True,
    now: float | None = None,
) -> EventBody:
    """Return the event of a webhook that one of the `secrets` signed at most 300 seconds ago.

    `body` is what arrived, before anything parsed it. One secret signs both modes: give `livemode=False` to receive test events
    instead, None for both. Raises SignatureError, OtherModeError, and ValueError without a usable secret.
    """
    keys = [secrets] if isinstance(secrets, str) else list(secrets)
    if not keys or not all(key.startswith(_PREFIX) and len(key) > len(_PREFIX) for key in keys):
        raise ValueError("A webhook secret begins with whsec_.")
    told = {name.lower(): value for name, value in headers.items()}
    is_standard = "webhook-signature" in told
    sent_at, given = _standard(told) if is_standard else _stripe_like(told.get("x-service-signature", ""))
    if abs((time.time() if now is None else now) - sent_at) > TOLERANCE_SECONDS:
        raise SignatureError("The webhook was signed too long ago, or the clocks differ.")
    message = f"{told.get('webhook-id', '')}.{sent_at}." if is_standard else f"{sent_at}."
    wanted = [_signature(key, message.encode() + body, is_standard=is_standard) for key in keys]
    if not _any_equal(given, wanted):
        raise SignatureError("No secret made this signature.")
    return _event(body, livemode=livemode)


def _event(body: bytes, *, livemode: bool | None) -> EventBody:
    try:
        event = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise SignatureError("The body is not JSON.") from error
    if not isinstance(event, dict) or not isinstance(event.get("livemode"), bool):
        raise SignatureError("The body is no event.")
    if livemode is not None and event["livemode"] != livemode:
        raise OtherModeError("The event is of live mode." if event["livemode"] else "The event is of test mode.")
    return cast("EventBody", event)


def _standard(told: Mapping[str, str]) -> tuple[int, list[str]]:
    signatures = (part.partition(",") for part in told["webhook-signature"].split(" "))
    return _time(told.get("webhook-timestamp", "")), [value for version, _, value in signatures if version == "v1"]


def _stripe_like(header: str) -> tuple[int, list[str]]:
    fields = [field.partition("=") for field in header.split(",")]
    times = [value for name, _, value in fields if name == "t"]
    if len(times) != 1:
        raise SignatureError("The signature names no time, or several.")
    return _time(times[0]), [value for name, _, value in fields if name == "v1"]


def _time(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 12:
        raise SignatureError("The time of the signature is no number of seconds.")
    return int(text)


def _signature(secret: str, signed: bytes, *, is_standard: bool) -> str:
    if not is_standard:
        return hmac.digest(secret.encode(), signed, "sha256").hex()
    try:
        key = b64decode(secret.removeprefix(_PREFIX), validate=True)
    except ValueError as error:
        raise ValueError("A webhook secret is base64 after whsec_.") from error
    return b64encode(hmac.digest(key, signed, "sha256")).decode()


def _any_equal(given: Iterable[str], wanted: Sequence[str]) -> bool:
    """Compare all with all, so that the time taken does not say which matched."""
    return sum(hmac.compare_digest(one.encode(), other.encode()) for one, other in _pairs(given, wanted)) > 0


def _pairs(given: Iterable[str], wanted: Sequence[str]) -> Iterator[tuple[str, str]]:
    for one in given:
        for other in wanted:
            yield one, other
