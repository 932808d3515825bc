"""The rates app."""

from django.apps import AppConfig


class RatesConfig(AppConfig):
    """Registers the checks of the settings of prices and rates."""

    name = "rates"

    def ready(self) -> None:
        """Register the system checks."""
        from rates import checks  # noqa: F401 - importing registers them
