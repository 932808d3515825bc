"""What the facade has to say again: the permissions that a key was asked for, and the options that came with an invoice."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from accounts.models import ApiKey
from checkouts.models import Checkout

PERMISSION_LENGTH = 64
NAME_LENGTH = 80
HOST_LENGTH = 255


class Connection(models.Model):
    """A key that was made on the consent page, and for whom. Its scopes rule; the permissions are what plugins compare."""

    api_key = models.OneToOneField(ApiKey, models.CASCADE, related_name="greenfield", primary_key=True)
    permissions = ArrayField(models.CharField(max_length=PERMISSION_LENGTH))
    # What the plugin calls itself. Anybody can write anything here.
    application = models.CharField(max_length=NAME_LENGTH, blank=True)
    # The host that the key was sent to; empty if a person copied it.
    redirect_host = models.CharField(max_length=HOST_LENGTH, blank=True)

    def __str__(self) -> str:
        return f"{self.application or 'plugin'} at {self.redirect_host or 'nowhere'}"


class InvoiceOptions(models.Model):
    """The `checkout` object that a shop sent with an invoice. A checkout without a row was not made by the facade."""

    checkout = models.OneToOneField(Checkout, models.CASCADE, related_name="greenfield", primary_key=True)
    # Of the names that the facade knows, the values of the types that it knows.
    sent = models.JSONField(default=dict)

    def __str__(self) -> str:
        return f"options of {self.checkout_id}"
