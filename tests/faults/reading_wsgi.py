"""Django as a server runs it that takes a thread for each request, and reads its body there."""

import io
from collections.abc import Callable, Iterable
from typing import Any

from django.core.wsgi import get_wsgi_application

_django = get_wsgi_application()


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Read a request, and answer it."""
    environ["wsgi.input"] = io.BytesIO(environ["wsgi.input"].read())
    return _django(environ, start_response)
