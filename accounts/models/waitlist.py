"""The waitlist of merchants who want to take cards."""

from functools import partial

from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

from accounts.models.accounts import Merchant
from accounts.states import Mode
from gateway.core.ids import new_id
from gateway.core.money import USD_DIGITS

EMAIL_LENGTH = 254
COMPANY_LENGTH = 120
COUNTRY_LENGTH = 80


class FiatInterest(models.Model):
    """A person to notify once cards are available. One entry per merchant, mode and address."""

    public_id = models.CharField(max_length=40, unique=True, default=partial(new_id, "fiw"))
    # Needs no index: the constraint's index begins with this column.
    merchant = models.ForeignKey(Merchant, models.CASCADE, related_name="fiat_interests", db_index=False)
    mode = models.CharField(max_length=4, choices=Mode)
    email = models.CharField(max_length=EMAIL_LENGTH)
    company = models.CharField(max_length=COMPANY_LENGTH, blank=True)
    # Free text for people; no logic uses it.
    country = models.CharField(max_length=COUNTRY_LENGTH, blank=True)
    # USD.
    monthly_volume = models.DecimalField(max_digits=USD_DIGITS, decimal_places=2, null=True)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint("merchant", "mode", Lower("email"), name="fiat_interest_once"),
            models.CheckConstraint(condition=Q(mode__in=Mode.values), name="fiat_interest_mode_known"),
        ]

    def __str__(self) -> str:
        return self.email
