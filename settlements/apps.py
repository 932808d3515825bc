"""The settlements app."""

from django.apps import AppConfig


class SettlementsConfig(AppConfig):
    """Brings the checks of the settings about gas."""

    name = "settlements"

    def ready(self) -> None:
        """Register the system checks."""
        from settlements import checks  # noqa: F401 - importing registers them
