"""The wallets app's Django configuration."""

from django.apps import AppConfig

from gateway.core import daily_totals


class WalletsConfig(AppConfig):
    """Registers the checks of the chain settings, and the kept totals of transfers and watched movements."""

    name = "wallets"

    def ready(self) -> None:
        """Register the system checks and the kept totals."""
        from wallets import checks  # noqa: F401 - importing registers them
        from wallets.transfers.totals import TRANSFER_DAYS, WATCHED_DAYS

        daily_totals.register(TRANSFER_DAYS, WATCHED_DAYS)
