"""Answers that are kept for a request's Idempotency-Key."""

from django.db import models

from accounts.models.accounts import Merchant
from accounts.states import Mode


class IdempotentRequest(models.Model):
    """A request with an Idempotency-Key: a merchant uses a key once in each mode, for one body."""

    # Needs no index: the constraint's index begins with this column.
    merchant = models.ForeignKey(Merchant, models.CASCADE, related_name="+", db_index=False)
    mode = models.CharField(max_length=4, choices=Mode)
    key = models.CharField(max_length=255)
    # SHA-256 of what was asked for, in canonical form.
    digest = models.BinaryField(max_length=32)
    created_at = models.DateTimeField()

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.key


class IdempotencyKey(IdempotentRequest):
    """A key of any POST but x402's verify and settle, with the first answer: its status, and its body, encrypted."""

    status = models.SmallIntegerField()
    body = models.BinaryField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["merchant", "mode", "key"], name="idempotency_key_once")]
        indexes = [models.Index(fields=["created_at"], name="idempotency_key_by_time")]
