"""Looking for the static files once, as a web process does.

Each of Django's test clients starts with middleware of its own, and WhiteNoise's looks at every static file of every
app when it starts, which takes several times as long as what is then asked.
"""

from collections.abc import Hashable, Mapping
from typing import Any, Final

from django.conf import settings
from whitenoise.middleware import WhiteNoiseMiddleware

_found: Final[dict[Hashable, Mapping[str, Any]]] = {}
_look = WhiteNoiseMiddleware.add_files_from_finders


def look_once() -> None:
    """Let all middleware of this process share what the first one with the same settings found."""
    WhiteNoiseMiddleware.add_files_from_finders = _look_or_remember


def _look_or_remember(middleware: Any) -> None:
    places = middleware.static_prefix, repr(settings.STATICFILES_DIRS)
    key = (*places, repr(settings.STORAGES), middleware.max_age)
    if key not in _found:
        _found[key] = _found_by(middleware)
    middleware.files |= _found[key]


def _found_by(middleware: Any) -> Mapping[str, Any]:
    """What a middleware finds itself; what it had before is not part of it."""
    before, middleware.files = middleware.files, {}
    try:
        _look(middleware)
        found: Mapping[str, Any] = middleware.files
    finally:
        middleware.files = before
    return found
