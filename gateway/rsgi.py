"""Entry point of the web processes: `granian --interface rsgi --http 1 gateway.rsgi:application`."""

import os

from django.conf import settings
from django.urls import get_resolver

from gateway.server.requests import django_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway.settings")
_django = django_application()

from accounts.requests.log import is_waiting, write_notes  # noqa: E402
from gateway.core.open_files import allow_most_files  # noqa: E402
from gateway.server.front import Chore, Front  # noqa: E402
from x402.exact.rails import prepare  # noqa: E402

allow_most_files()
# Views, and what machines' first payment needs, are imported before the first request, which would wait for it.
_ = get_resolver().url_patterns
prepare()
application = Front(_django, threads=settings.WEB_THREADS, chore=Chore(is_waiting, write_notes))
