"""Queued mail: written in the transaction that causes it, sent afterwards."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

KEY_LENGTH = 160
RECIPIENT_LENGTH = 254
SUBJECT_LENGTH = 200


class OutgoingMail(models.Model):
    """One mail to one person, to be sent once.

    If `text` is empty, the writer in MAIL_WRITERS for its key's prefix supplies the text when it is sent.
    """

    # The mail's subject, unique: `receipt:chk_live_…`. Queueing the same key again does nothing.
    key = models.CharField(max_length=KEY_LENGTH, unique=True)
    recipient = models.CharField(max_length=RECIPIENT_LENGTH)
    subject = models.CharField(max_length=SUBJECT_LENGTH, blank=True)
    text = models.TextField(blank=True)
    html = models.TextField(blank=True)
    tries = models.PositiveSmallIntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now)
    # The time of the next try; null once it was sent or given up.
    due_at = models.DateTimeField(null=True)
    sent_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["due_at"], condition=Q(due_at__isnull=False), name="outgoing_mail_due"),
            # Few, for operators.
            models.Index(fields=["id"], condition=Q(due_at=None, sent_at=None), name="outgoing_mail_given_up"),
        ]

    def __str__(self) -> str:
        return self.key
