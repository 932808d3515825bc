"""Challenges that owners sign to prove that they hold a receiving wallet's key."""

from datetime import datetime
from typing import Final

from django.db import models

from accounts.models import Merchant, User
from wallets.states import ClaimKind

SIGNATURE_LENGTH: Final = 4_000
"""The longest accepted signature in characters. Passkeys and multi-owner wallets need most."""


class WalletProof(models.Model):
    """A challenge for one merchant and address, and its signature.

    It can be used once, within minutes. The signature is kept as evidence. It is not secret: the nonce prevents its use
    elsewhere.
    """

    merchant = models.ForeignKey(Merchant, models.CASCADE, related_name="wallet_proofs")
    chain = models.CharField(max_length=16)
    purpose = models.CharField(
        max_length=8, choices=ClaimKind, default=ClaimKind.CHECKOUT, db_default=ClaimKind.CHECKOUT
    )
    # In canonical form.
    address = models.CharField(max_length=80)
    nonce = models.CharField(max_length=32, unique=True)
    requested_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    requested_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
    # A contract wallet's signature may have any length.
    signature = models.CharField(max_length=SIGNATURE_LENGTH, blank=True)
    # TON only: its addresses do not reveal their keys.
    public_key = models.CharField(max_length=66, blank=True)

    def __str__(self) -> str:
        return f"{self.chain}:{self.address}"

    def is_open(self, *, now: datetime) -> bool:
        """Whether a signature is still accepted."""
        return self.used_at is None and now < self.expires_at
