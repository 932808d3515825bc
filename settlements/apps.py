"""The settlements app."""

from django.apps import AppConfig

from gateway.core import daily_totals


class SettlementsConfig(AppConfig):
    """Registers the checks of the gas settings, and what gas costs in ten minutes as a kept total."""

    name = "settlements"

    def ready(self) -> None:
        """Register the system checks and the kept total."""
        from settlements import checks  # noqa: F401 - importing registers them
        from settlements.models import GAS_SPANS

        daily_totals.register(GAS_SPANS)
