"""WSGI entry point: `granian --interface wsgi gateway.wsgi:application`."""

import io
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from django.conf import settings
from django.core.wsgi import get_wsgi_application

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway.settings")
_django = get_wsgi_application()


def application(
    environ: "WSGIEnvironment", start_response: "StartResponse"
) -> Iterable[bytes]:
    """Answer one request."""
    if "CONTENT_LENGTH" not in environ and "HTTP_TRANSFER_ENCODING" in environ:
        _measure_body(environ)
    return _django(environ, start_response)


def _measure_body(environ: "WSGIEnvironment") -> None:
    """Give a body sent in chunks its length: Django would take it for an empty one."""
    # One byte more than Django takes, so that a longer body is refused as such.
    body = environ["wsgi.input"].read(settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1)
    environ["wsgi.input"] = io.BytesIO(body)
    environ["CONTENT_LENGTH"] = str(len(body))
