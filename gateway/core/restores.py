"""Restores of the database from a backup: values assigned in the lost time are unknown and must not be assigned again."""

from datetime import datetime, timedelta
from typing import Final

from django.contrib.postgres.fields import ArrayField
from django.db import models

LONGEST_CHECKOUT: Final = timedelta(days=1)
"""How long a lost checkout can still be paid (`checkouts.creation.forms.MAX_EXPIRES_IN`)."""


class Restore(models.Model):
    """One restore, written by `manage.py after_restore`. Everything from `lost_from` on may be missing."""

    lost_from = models.DateTimeField(primary_key=True)
    restored_at = models.DateTimeField()
    # Until then a lost checkout may have an exact amount that looks free here.
    amounts_until = models.DateTimeField()
    # Chains that `after_restore` still has to read again, up to where the backup had read them.
    unread = ArrayField(models.CharField(max_length=16), null=True)

    class Meta:
        app_label = "gateway"

    def __str__(self) -> str:
        return f"lost from {self.lost_from:%Y-%m-%d %H:%M:%S}"


def lost_checkouts_may_be_paid(moments: list[datetime]) -> set[datetime]:
    """Return those of the given block times at which a buyer may have paid a checkout that a restore lost."""
    if not moments:
        return set()
    spans = Restore.objects.filter(
        lost_from__lte=max(moments), restored_at__gte=min(moments) - LONGEST_CHECKOUT
    ).values_list("lost_from", "restored_at")
    return {moment for first, last in spans for moment in moments if first <= moment <= last + LONGEST_CHECKOUT}
