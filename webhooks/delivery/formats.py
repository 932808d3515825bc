"""What one attempt sends, by its endpoint's format: URL, headers and body. The body is the event's in most formats."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Final

from django.conf import settings
from django.utils.module_loading import import_string

from webhooks.delivery.claims import Claimed, Work
from webhooks.endpoints.targets import target_of
from webhooks.health import DELAYS, MAX_TRIES, AttemptResult
from webhooks.outbox.events import SAMPLE_PREFIX
from webhooks.push import authorization
from webhooks.signatures import sign, sign_as_btcpay
from webhooks.states import Format

# Requests in flight to one endpoint.
LANES: Final = 2
# What a request may carry and no list of attempts may show.
_SECRET_HEADERS: Final = frozenset({"Authorization"})
# A notice is of use for some minutes: later, people have seen it in the dashboard. At once, then after 5 s, 30 s, 2 and 10 minutes.
_TRIES_OF_NOTES: Final = DELAYS.index(600) + 1
_NOTES: Final = frozenset({Format.PUSH, Format.CHAT})
# Notices for which a push service wakes a device that saves its battery (RFC 8030, 5.3): a person stands at the counter, or ships.
_WAKING: Final = frozenset({"notice.payment", "notice.chain"})
# How long a push service keeps a message for a browser that is off.
_PUSH_LASTS: Final = 86_400


@dataclass(frozen=True, slots=True)
class Request:
    """Where an attempt goes, its headers, and its body."""

    url: str
    headers: Mapping[str, str]
    body: bytes = b""

    @property
    def shown_headers(self) -> dict[str, str]:
        """Return the headers that are recorded."""
        return {name: value for name, value in self.headers.items() if name not in _SECRET_HEADERS}


def request_of(work: Work, at: datetime) -> Request | None:
    """Return the request of an attempt at a time; None where the format has no words for the event.

    Raises ValueError and LookupError for a target that we cannot use.
    """
    return _WRITERS[Format(work.claimed.format)](work, at)


def most_tries(form: str) -> int:
    """Return how often a delivery is tried in all."""
    return _TRIES_OF_NOTES if form in _NOTES else MAX_TRIES


def most_lanes(form: str) -> int:
    """Return how many requests may be in flight to an endpoint at once.

    One to a plugin for BTCPay Server, which sends a webhook's deliveries one after another: a shop that got an invoice's first two
    words at once might take the older one for the newer, or make an order twice.
    """
    return 1 if form == Format.BTCPAY else LANES


def judged(answer: AttemptResult, form: str) -> AttemptResult:
    """Return an answer as its format means it: to a push service, a subscription that it does not find is gone (RFC 8030, 7.3)."""
    if form == Format.PUSH and answer.status_code == HTTPStatus.NOT_FOUND:
        return AttemptResult(int(HTTPStatus.GONE))
    return answer


def _signed(work: Work, at: datetime) -> Request:
    claimed = work.claimed
    is_sample = claimed.event_id.startswith(SAMPLE_PREFIX)
    headers = {
        "Content-Type": "application/json",
        "X-Service-Event": claimed.event_type,
        "X-Service-Delivery": claimed.delivery_id,
        **({"X-Service-Sample": "true"} if is_sample else {}),
    } | sign(claimed.body, message_id=claimed.event_id, timestamp=int(at.timestamp()), secrets=work.secrets)
    return Request(claimed.url, headers, claimed.body)


def _pushed(work: Work, at: datetime) -> Request:
    target = target_of(work.secrets)
    headers = {
        "Authorization": authorization(target.url, target.vapid, now=at),
        "Content-Encoding": "aes128gcm",
        "Content-Type": "application/octet-stream",
        "TTL": str(_PUSH_LASTS),
        "Urgency": "high" if work.claimed.event_type in _WAKING else "normal",
    }
    return Request(target.url, headers, work.claimed.body)


def _chatted(work: Work, _at: datetime) -> Request:
    return Request(target_of(work.secrets).url, {"Content-Type": "application/json"}, work.claimed.body)


def _as_btcpay(work: Work, _at: datetime) -> Request | None:
    claimed = work.claimed
    write: Callable[[Claimed], bytes | None] = import_string(settings.WEBHOOK_BTCPAY_BODY)
    body = write(claimed)
    if body is None:
        return None
    # One signature has one secret. In a rotation it is the new one, which the plugin is about to be given.
    signature = sign_as_btcpay(body, work.secrets[0])
    return Request(claimed.url, {"Content-Type": "application/json", "BTCPay-Sig": signature}, body)


_WRITERS: Final[Mapping[Format, Callable[[Work, datetime], Request | None]]] = {
    Format.FLORIN: _signed,
    Format.PUSH: _pushed,
    Format.CHAT: _chatted,
    Format.BTCPAY: _as_btcpay,
}
