"""The settings of `script/dev`'s pages: the product's, with DEBUG and the toolbar, for this machine alone."""

from importlib.util import find_spec
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from demo.front.settings import *  # noqa: F403
from demo.front.settings import TEMPLATES
from gateway.settings import INSTALLED_APPS, MIDDLEWARE, PRODUCTION

_toolbar = find_spec("debug_toolbar")
if PRODUCTION or _toolbar is None or _toolbar.origin is None:
    message = "demo.debug.settings are for development, with requirements/dev.txt."
    raise ImproperlyConfigured(message)

DEBUG = True
# No other name reaches an error page, whatever forwards requests to this machine.
ALLOWED_HOSTS = ["127.0.0.1", "localhost", "[::1]"]
INTERNAL_IPS = ["127.0.0.1", "::1"]

INSTALLED_APPS = [*INSTALLED_APPS, "debug_toolbar"]
MIDDLEWARE = ["debug_toolbar.middleware.DebugToolbarMiddleware", *MIDDLEWARE]
ROOT_URLCONF = "demo.debug.urls"
TEMPLATES[0]["DIRS"] += [Path(_toolbar.origin).parent / "templates"]  # type: ignore[operator]
# Panels are fetched when they are opened, from the one web process.
DEBUG_TOOLBAR_CONFIG = {"RENDER_PANELS": False, "SHOW_COLLAPSED": True}
