"""The team's notes about checkouts."""

from django.db import models

from accounts.models import User
from checkouts.models.checkouts import Checkout

MOST_LETTERS = 1_000


class TeamNote(models.Model):
    """The team's note about a checkout, never shown to buyers or sent by webhook or API.

    Its own table: few checkouts have one.
    """

    checkout = models.OneToOneField(
        Checkout, models.CASCADE, related_name="team_note", primary_key=True
    )
    text = models.CharField(max_length=MOST_LETTERS)
    # The last author.
    author = models.ForeignKey(User, models.PROTECT, related_name="+", db_index=False)
    written_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"note of {self.checkout_id}"
