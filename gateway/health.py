"""Whether this process lives, and whether it can serve."""

from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse

from gateway.core import valkey


def alive(_request: HttpRequest) -> HttpResponse:
    """The process answers; nothing else is asked."""
    return HttpResponse("ok", content_type="text/plain")


def ready(_request: HttpRequest) -> HttpResponse:
    """The database answers. Valkey is reported and not required: payments go on without it."""
    database = _database_answers()
    body = {
        "database": database,
        "valkey": valkey.attempt(lambda client: client.ping()) is True,
    }
    return JsonResponse(body, status=200 if database else 503)


def _database_answers() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return False
    return True
