"""The last word of each source of rates, and the times in which a currency had no rate."""

from django.db import models
from django.db.models import Q

from gateway.core.currencies import RATE_DECIMALS
from rates.rule import RateRefusal

RATE_DIGITS = 24


class Rate(models.Model):
    """The last word of a source about a currency or a token. Its history is not kept: a quote keeps what it was made of."""

    # ISO 4217, or a token's symbol.
    currency = models.CharField(max_length=8)
    source = models.CharField(max_length=64)
    # USD for one unit.
    rate = models.DecimalField(max_digits=RATE_DIGITS, decimal_places=RATE_DECIMALS)
    # When it was so: the source's own time if it tells one, else ours.
    taken_at = models.DateTimeField()
    fetched_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["currency", "source"], name="rate_once_per_source"),
            models.CheckConstraint(condition=Q(rate__gt=0), name="rate_positive"),
        ]

    def __str__(self) -> str:
        return f"{self.currency} by {self.source}: {self.rate}"


class RateTrouble(models.Model):
    """A time in which prices in a currency could not be converted. `readings` are those of its beginning, for the operator."""

    currency = models.CharField(max_length=8)
    reason = models.CharField(max_length=16, choices=[(one.value, one.value) for one in RateRefusal])
    readings = models.JSONField()
    began_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["currency"], condition=Q(ended_at=None), name="one_open_rate_trouble"),
            models.CheckConstraint(
                condition=Q(reason__in=[one.value for one in RateRefusal]), name="rate_trouble_reason_known"
            ),
        ]
        indexes = [models.Index(fields=["-began_at"], name="rate_trouble_began")]

    def __str__(self) -> str:
        return f"{self.currency}: {self.reason} since {self.began_at:%Y-%m-%d %H:%M}"
