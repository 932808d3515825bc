"""The settings of the demo's pages: the product's, with a first page and a login page that is filled in."""

from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from gateway.settings import *  # noqa: F403
from gateway.settings import PRODUCTION, STATICFILES_DIRS, TEMPLATES

if PRODUCTION:
    message = "demo.front.settings are for development: they show a password."
    raise ImproperlyConfigured(message)

_FOLDER = Path(__file__).parent

ROOT_URLCONF = "demo.front.urls"
STATICFILES_DIRS = [*STATICFILES_DIRS, _FOLDER / "static"]
TEMPLATES[0]["DIRS"] = [_FOLDER / "templates", *TEMPLATES[0]["DIRS"]]  # type: ignore[misc]
