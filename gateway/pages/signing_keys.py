"""The public keys of signed receipts, for anybody: as a JWK Set, as a DID document, and on the page that checks a receipt."""

import json
from collections.abc import Callable
from datetime import datetime
from functools import wraps
from typing import Any, Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from gateway.core.api.errors import RateLimitError
from gateway.core.api.rate_limits import Limit
from gateway.core.signing import did_document, did_of, issuer, jwks
from gateway.core.web.pages import count_visit, too_many, uncached

LIMIT: Final = Limit("signing_keys", 60)
# How long others keep the keys, so that a withdrawn one is known soon.
_CACHE_SECONDS: Final = 300

Published = Callable[[HttpRequest, datetime], dict[str, Any]]


def _published(view: Published) -> Callable[[HttpRequest], HttpResponse]:
    """Decorate a view: what it returns is JSON that any site may read."""

    @require_safe
    @wraps(view)
    def answer(request: HttpRequest) -> HttpResponse:
        try:
            count_visit(request, LIMIT, "")
        except RateLimitError as error:
            return uncached(JsonResponse(error.body(), status=error.status), error.headers())
        response = JsonResponse(view(request, timezone.now()))
        response["Access-Control-Allow-Origin"] = "*"
        response["Cache-Control"] = f"public, max-age={_CACHE_SECONDS}"
        return response

    return answer


@_published
def jwks_json(_request: HttpRequest, now: datetime) -> dict[str, Any]:
    """Return `/.well-known/jwks.json`."""
    return jwks(now=now)


@_published
def did_json(request: HttpRequest, now: datetime) -> dict[str, Any]:
    """Return `/.well-known/did.json`: this installation's, or on a host of LEGACY_HOSTS that of the host."""
    host = request.get_host().lower()
    is_legacy = host in {legacy.lower() for legacy in settings.LEGACY_HOSTS}
    return did_document(did_of(host) if is_legacy else issuer(), now=now)


@require_safe
def verify(request: HttpRequest) -> HttpResponse:
    """Show the page that checks receipts in the browser. The keys are in it, so that it works as a saved file."""
    try:
        count_visit(request, LIMIT, "")
    except RateLimitError as error:
        return too_many(request, error)
    keys = jwks(now=timezone.now())
    shown = {"issuer": issuer(), "keys": json.dumps(keys, indent=1), "is_signing": bool(settings.ENCRYPTION_KEYS)}
    return uncached(render(request, "gateway/verify.html", shown))
