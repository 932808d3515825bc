"""Authenticates requests by API key. Each process caches valid keys for a few seconds."""

import time
from dataclasses import dataclass
from datetime import timedelta
from threading import Lock

from cachetools import TTLCache, cached
from django.conf import settings
from django.db.models import Q
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from accounts.keys.service import digest_of
from accounts.models import ApiKey
from accounts.states import Mode
from gateway.core.api.errors import AuthenticationError
from gateway.core.postgres.replica import from_primary

# `last_used_at` is for people; a minute's precision saves a write on the hot path.
_LAST_USED_PRECISION = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Principal:
    """The merchant, mode and key of an authenticated request."""

    key_id: str
    merchant_id: int
    mode: Mode


# Its lifetime limits how long a revoked key still works. Refusals are not cached. Tests replace `time.monotonic`.
key_cache: TTLCache[bytes, Principal] = TTLCache(
    maxsize=10_000, ttl=settings.API_KEY_CACHE_SECONDS, timer=lambda: time.monotonic()
)


def principal_of(key: str) -> Principal:
    """Return the principal of `key`. Raises AuthenticationError (key_invalid, key_revoked)."""
    return _look_up(digest_of(key))


@cached(key_cache, key=lambda digest: digest, lock=Lock())
@from_primary
def _look_up(digest: bytes) -> Principal:
    row = (
        ApiKey.objects.filter(digest=digest).values_list("pk", "public_id", "merchant_id", "mode", "revoked_at").first()
    )
    if row is None:
        raise AuthenticationError("This API key does not exist.", code="key_invalid")
    pk, public_id, merchant_id, mode, revoked_at = row
    if revoked_at is not None:
        raise AuthenticationError("This API key was revoked.", code="key_revoked")
    now = timezone.now()
    stale = Q(last_used_at=None) | Q(last_used_at__lt=now - _LAST_USED_PRECISION)
    ApiKey.objects.filter(stale, pk=pk).update(last_used_at=now)
    return Principal(key_id=public_id, merchant_id=merchant_id, mode=Mode(mode))


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
