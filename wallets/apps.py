"""The wallets app's Django configuration."""

from django.apps import AppConfig


class WalletsConfig(AppConfig):
    """Registers the checks of the chain settings."""

    name = "wallets"

    def ready(self) -> None:
        """Register the system checks."""
        from wallets import checks  # noqa: F401 - importing registers them
