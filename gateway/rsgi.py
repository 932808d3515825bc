"""Entry point of the web processes: `granian --interface rsgi --http 1 gateway.rsgi:application`."""

import os

from django.conf import settings
from django.urls import get_resolver

from gateway.server.requests import django_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway.settings")
_django = django_application()

from gateway.core.open_files import allow_most_files  # noqa: E402
from gateway.server.front import Front  # noqa: E402

allow_most_files()
# Views are imported before the first request; otherwise the first requests would wait for the import.
_ = get_resolver().url_patterns
application = Front(_django, threads=settings.WEB_THREADS)
