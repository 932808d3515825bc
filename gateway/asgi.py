"""ASGI entry point of the stream server, beside web and not instead: `granian --interface asgi gateway.asgi:application`."""

import os

import django
from django.conf import settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway.settings")
django.setup()

from checkouts.page.streaming.application import StreamApplication  # noqa: E402
from gateway.core.open_files import allow_most_files  # noqa: E402

# Connections to PostgreSQL and Valkey, logs, and whoever is being refused.
_OTHER_FILES = 200


def streams_possible(wanted: int) -> int:
    """Return how many streams this process can hold, `wanted` at most; each is an open file, of which shells allow few."""
    most = allow_most_files()
    return wanted if most is None else max(0, min(wanted, most - _OTHER_FILES))


application = StreamApplication(most=streams_possible(settings.MAX_STREAMS))
