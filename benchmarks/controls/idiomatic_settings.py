"""The product's settings with the idiomatic control's single route."""

from gateway.settings import *  # noqa: F403

ROOT_URLCONF = "benchmarks.controls.idiomatic"
MIDDLEWARE = ["django.middleware.security.SecurityMiddleware", "django.middleware.common.CommonMiddleware"]
