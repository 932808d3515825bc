"""The settlements app."""

from django.apps import AppConfig


class SettlementsConfig(AppConfig):
    """Registers the checks of the gas settings."""

    name = "settlements"

    def ready(self) -> None:
        """Register the system checks."""
        from settlements import checks  # noqa: F401 - importing registers them
