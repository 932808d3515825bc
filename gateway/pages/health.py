"""Liveness, readiness and metrics."""

import hmac
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, connection
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from prometheus_client import CONTENT_TYPE_LATEST

from gateway.core import valkey
from gateway.pages.metrics import measure


def alive(_request: HttpRequest) -> HttpResponse:
    """Answer 200: the process is alive. Nothing else is checked."""
    return HttpResponse("ok", content_type="text/plain")


def ready(_request: HttpRequest) -> HttpResponse:
    """Answer whether the database responds. Valkey is reported but not required: payments go on without it.

    A process that is about to be replaced says that it is not ready, and goes on answering requests.
    """
    if settings.DRAIN_FILE and Path(settings.DRAIN_FILE).exists():
        return JsonResponse({"draining": True}, status=503)
    database = _database_answers()
    body = {"database": database, "valkey": valkey_answers()}
    return JsonResponse(body, status=200 if database else 503)


def metrics(request: HttpRequest) -> HttpResponse:
    """Return what a monitor should watch, in Prometheus' text format; requires METRICS_TOKEN."""
    wanted = f"Bearer {settings.METRICS_TOKEN}"
    given = request.headers.get("Authorization", "")
    if not settings.METRICS_TOKEN or not hmac.compare_digest(given.encode(), wanted.encode()):
        raise Http404
    return HttpResponse(measure(now=timezone.now()), content_type=CONTENT_TYPE_LATEST)


def valkey_answers() -> bool:
    """Return whether Valkey answers."""
    return valkey.attempt(lambda client: client.ping()) is True


def _database_answers() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return False
    return True
