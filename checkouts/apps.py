"""The checkouts app."""

from collections.abc import Collection

from django.apps import AppConfig

from gateway.core import daily_totals


class CheckoutsConfig(AppConfig):
    """Registers the kept totals of checkouts, and what ends their escrow."""

    name = "checkouts"

    def ready(self) -> None:
        """Register the kept totals, and who is told of flushed escrow."""
        from checkouts.lifecycle.counts import CHECKOUT_COUNTS, CHECKOUT_DAYS
        from settlements.sweeps import escrow

        daily_totals.register(CHECKOUT_COUNTS, CHECKOUT_DAYS)
        escrow.register(_end_flushed)


def _end_flushed(subject_ids: Collection[str]) -> None:
    # Loaded when it is needed: with it come Valkey's client and tracing, which not every process uses.
    from checkouts.lifecycle.escrow import end_flushed

    end_flushed(subject_ids)
