"""Webhooks as a Django app."""

from django.apps import AppConfig
from django.core.checks import register

from webhooks.checks import check_settings


class WebhooksConfig(AppConfig):
    """Registers the app's system checks."""

    name = "webhooks"

    def ready(self) -> None:
        """Register the checks."""
        register(check_settings)
