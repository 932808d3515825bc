"""The checkouts app."""

from django.apps import AppConfig

from gateway.core import daily_totals


class CheckoutsConfig(AppConfig):
    """Registers the kept totals of checkouts."""

    name = "checkouts"

    def ready(self) -> None:
        """Register the kept totals."""
        from checkouts.lifecycle.counts import CHECKOUT_COUNTS, CHECKOUT_DAYS

        daily_totals.register(CHECKOUT_COUNTS, CHECKOUT_DAYS)
