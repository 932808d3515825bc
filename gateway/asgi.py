"""ASGI entry point of the stream server, beside web and not instead: `granian --interface asgi gateway.asgi:application`."""

import os
import resource

import django
from django.conf import settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway.settings")
django.setup()

from checkouts.streaming.application import StreamApplication  # noqa: E402

# Connections to PostgreSQL and Valkey, logs, and whoever is being refused.
_OTHER_FILES = 200


def streams_possible(wanted: int) -> int:
    """Return how many streams this process can hold, `wanted` at most; each is an open file, of which shells allow few."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if most == resource.RLIM_INFINITY:
        return wanted
    return max(0, min(wanted, most - _OTHER_FILES))


application = StreamApplication(most=streams_possible(settings.MAX_STREAMS))
