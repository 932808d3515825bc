"""The shop as Django loads it."""

from typing import Any

from django.apps import AppConfig


class ShopConfig(AppConfig):
    """Hears of payments."""

    name = "shop"

    def ready(self) -> None:
        """Write down each change of a payment."""
        from payments.signals import status_changed

        status_changed.connect(_note)


def _note(sender: Any, instance: Any, **_more: Any) -> None:
    """Here a real shop delivers, once the payment is confirmed."""
    del sender
    instance.changes.create(status=instance.status)
