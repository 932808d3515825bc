"""ASGI entry point of the stream server, which runs beside web: `granian --interface asgi gateway.asgi:application`."""

import os
from collections.abc import Mapping
from typing import Any

import django
from django.conf import settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway.settings")
django.setup()

from checkouts.page.streaming.application import Receive, Send, StreamApplication  # noqa: E402
from gateway.core.open_files import allow_most_files  # noqa: E402
from gateway.server.sending import set_deadline  # noqa: E402

# Files reserved for connections to PostgreSQL and Valkey, for logs, and for clients being refused.
_OTHER_FILES = 200


def streams_possible(wanted: int) -> int:
    """Return how many streams this process can hold, at most `wanted`. Each is an open file, and shells allow few."""
    most = allow_most_files()
    return wanted if most is None else max(0, min(wanted, most - _OTHER_FILES))


_streams = StreamApplication(most=streams_possible(settings.MAX_STREAMS))


async def application(scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
    """Answer one request, or run the server's lifespan, which begins before the server listens."""
    if scope["type"] == "http":
        set_deadline()
    await _streams(scope, receive, send)
