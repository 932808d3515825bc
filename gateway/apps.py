"""The gateway as a Django app: commands, Celery, system checks."""

from django.apps import AppConfig


class GatewayConfig(AppConfig):
    """Loads what must exist before the first request or task."""

    name = "gateway"

    def ready(self) -> None:
        """Configure Celery, so that tasks can be sent from any process."""
        from gateway import celery, checks  # noqa: F401 - apps must be loaded first
