"""Incidents: the times in which payments, webhooks or settlements were late."""

from django.db import models
from django.db.models import Q


class IncidentKind(models.TextChoices):
    """What was late, or in doubt."""

    CHAIN = "chain"
    SOURCES = "sources"
    CREDITS = "credits"
    WEBHOOKS = "webhooks"
    # No gas account of the chain can pay. Buyers' payments do not wait for it, so the status page has none of these.
    GAS = "gas"


class Incident(models.Model):
    """One incident. The rows that show a chain's trouble forget it when it ends, so begin and end are kept here."""

    kind = models.CharField(max_length=8, choices=IncidentKind)
    # Empty where it concerns all chains.
    chain = models.CharField(max_length=16, blank=True)
    # Whether the chain could not be read at all at some time, or was only late.
    stopped = models.BooleanField(default=False)
    # Whether it was stopped at some time because it contradicted what was read.
    halted = models.BooleanField(default=False, db_default=False)
    began_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    class Meta:
        app_label = "gateway"
        constraints = [
            models.UniqueConstraint(fields=["kind", "chain"], condition=Q(ended_at=None), name="one_open_incident")
        ]
        indexes = [models.Index(fields=["began_at"], name="incident_began")]

    def __str__(self) -> str:
        return f"{self.kind} {self.chain} {self.began_at:%Y-%m-%d %H:%M}"
