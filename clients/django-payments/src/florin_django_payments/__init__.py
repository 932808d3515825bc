"""Provider of Florin for django-payments: name `florin_django_payments.FlorinProvider` in `PAYMENT_VARIANTS`."""

from florin_django_payments.provider import FlorinProvider

__all__ = ["FlorinProvider"]
