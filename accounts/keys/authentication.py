"""Authenticates requests by API key. Each process caches valid keys for a few seconds."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import IPv4Network, IPv6Network, ip_address
from threading import Lock
from typing import Final

from cachetools import TTLCache, cached
from django.conf import settings
from django.db.models import Q
from django.http import HttpRequest
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.keys.idempotency import answer_once, answer_repeatable, has_answer
from accounts.keys.service import digest_of, is_mistyped
from accounts.models import AGENT_LENGTH, ApiKey
from accounts.states import Mode
from gateway.core.api.errors import AuthenticationError, NetworkError, ScopeError
from gateway.core.api.idempotency import LONGEST
from gateway.core.outbound import plain
from gateway.core.postgres.replica import from_primary
from gateway.core.web.client_address import address_or_none, client_address, proxy_network

# What is noted of a use is for people; a minute's precision saves a write on the hot path.
_NOTE_SECONDS: Final = 60


@dataclass(frozen=True, slots=True)
class Principal:
    """The merchant, mode and key of an authenticated request, and what the key may do from where.

    Without `networks` it may be used anywhere; without `expires_at` it never expires.
    """

    key_id: str
    merchant_id: int
    mode: Mode
    scopes: frozenset[str] = frozenset()
    networks: tuple[IPv4Network | IPv6Network, ...] = ()
    expires_at: datetime | None = None

    def admit(self, request: HttpRequest, scope: str | None) -> None:
        """Note the use of the key if it may be used from the client's address, and has the scope; None asks for none.

        Raises NetworkError, ScopeError.
        """
        if self.networks and not self._comes_from_its_networks(request):
            raise NetworkError(f"This API key may not be used from {client_address(request)}.")
        if scope is not None and scope not in self.scopes:
            raise ScopeError(scope)
        _note(self.key_id, used=_use_of(request, scope))

    def note_refusal(self, scope: str) -> None:
        """Note that the key lacks a scope. Call it outside of a transaction, which would undo the note."""
        _note(self.key_id, refused_scope=scope)

    def answer_once(self, request: Request, work: Callable[[], Response], *, longest: int = LONGEST) -> Response:
        """Return the response of `work`, or the one that the request's Idempotency-Key got before. Raises GatewayError."""
        return answer_once(self.merchant_id, self.mode, request, work, now=timezone.now(), longest=longest)

    def answer_repeatable(self, request: Request, work: Callable[[], Response]) -> Response:
        """Return the same, of `work` that asks nodes and is safe to repeat: it runs in no transaction. Raises GatewayError."""
        return answer_repeatable(self.merchant_id, self.mode, request, work, now=timezone.now())

    def has_answer(self, request: Request) -> bool:
        """Return whether the request's Idempotency-Key was used already. Raises InvalidRequestError."""
        return has_answer(self.merchant_id, self.mode, request, now=timezone.now())

    def _comes_from_its_networks(self, request: HttpRequest) -> bool:
        address = address_or_none(request)
        if address is None:
            return False
        client = plain(ip_address(address))
        return any(client in network for network in self.networks)


# Its lifetime limits how long a revoked key still works. Refusals are not cached. Tests replace `time.monotonic`.
key_cache: TTLCache[bytes, Principal] = TTLCache(
    maxsize=10_000, ttl=settings.API_KEY_CACHE_SECONDS, timer=lambda: time.monotonic()
)


_notes: TTLCache[tuple[str, str], bool] = TTLCache(maxsize=10_000, ttl=_NOTE_SECONDS, timer=lambda: time.monotonic())
_notes_lock: Final = Lock()


def principal_of(key: str) -> Principal:
    """Return the principal of `key`. Raises AuthenticationError (key_invalid, key_revoked, key_expired)."""
    if is_mistyped(key):
        raise AuthenticationError("This API key has a typing error: its last six characters do not fit.")
    principal = _look_up(digest_of(key))
    # Compared at each request: the cache would prolong it.
    if principal.expires_at is not None and principal.expires_at <= timezone.now():
        raise AuthenticationError("This API key has expired.", code="key_expired")
    return principal


@cached(key_cache, key=lambda digest: digest, lock=Lock())
@from_primary
def _look_up(digest: bytes) -> Principal:
    key = ApiKey.objects.filter(digest=digest).first()
    if key is None:
        raise AuthenticationError("This API key does not exist.", code="key_invalid")
    if key.revoked_at is not None:
        raise AuthenticationError("This API key was revoked.", code="key_revoked")
    return Principal(
        key_id=key.public_id,
        merchant_id=key.merchant_id,
        mode=Mode(key.mode),
        scopes=frozenset(key.scopes),
        networks=tuple(proxy_network(text) for text in key.allowed_networks),
        expires_at=key.expires_at,
    )


def _use_of(request: HttpRequest, scope: str | None) -> Mapping[str, object]:
    """Return what is noted of a use: for what, from where, and with which program, as the client calls it."""
    told = request.META.get("HTTP_USER_AGENT", "")
    agent = "".join(filter(str.isprintable, told))[:AGENT_LENGTH]
    return {"last_used_scope": scope or "", "last_used_from": address_or_none(request), "last_used_agent": agent}


def _note(key_id: str, *, used: Mapping[str, object] | None = None, refused_scope: str = "") -> None:
    """Write when and how a key was used, or refused, for people: once a minute of each kind."""
    kind = (key_id, "refused" if refused_scope else "used")
    with _notes_lock:
        if kind in _notes:
            return
        _notes[kind] = True
    now = timezone.now()
    if refused_scope:
        change: dict[str, object] = {"refused_at": now, "refused_scope": refused_scope}
        last = "refused_at"
    else:
        change = {"last_used_at": now, **(used or {})}
        last = "last_used_at"
    stale = Q(**{last: None}) | Q(**{f"{last}__lt": now - timedelta(seconds=_NOTE_SECONDS)})
    ApiKey.objects.filter(stale, public_id=key_id).update(**change)


def principal_of_request(request: Request) -> Principal:
    """Return the principal of an authenticated request."""
    principal = request.auth
    if not isinstance(principal, Principal):
        raise AuthenticationError("No API key.", code="key_missing")
    return principal


class ApiKeyAuthentication(BaseAuthentication):
    """Reads `Authorization: Bearer <key>`."""

    def authenticate(self, request: Request) -> tuple[None, Principal] | None:
        """Return the principal as `request.auth`; None without the header. Raises AuthenticationError."""
        header = request.META.get("HTTP_AUTHORIZATION", "")
        if not header:
            return None
        scheme, _, key = header.partition(" ")
        if scheme.lower() != "bearer" or not key.startswith("sk_"):
            raise AuthenticationError("Send your API key as 'Authorization: Bearer <key>'.", code="key_invalid")
        return None, principal_of(key.strip())

    def authenticate_header(self, request: Request) -> str:
        """Return the `WWW-Authenticate` challenge of a 401."""
        return "Bearer"
