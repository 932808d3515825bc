"""The merchants' own wallets, where their money ends up, their pending changes, and challenges that prove their keys."""

from datetime import datetime
from typing import Final

from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.models import Merchant, User
from wallets.states import ClaimKind, ProofPurpose

SIGNATURE_LENGTH: Final = 4_000
"""The longest accepted signature in characters. Passkeys and multi-owner wallets need most."""

_OPEN_CHANGE = Q(applied_at=None, cancelled_at=None, failed_at=None)


class WalletProof(models.Model):
    """A challenge for one merchant and address, and its signature: by the merchant, or for a refund by who paid.

    It can be used once, within minutes. The signature is kept as evidence. It is not secret: the nonce prevents its use
    elsewhere.
    """

    merchant = models.ForeignKey(Merchant, models.CASCADE, related_name="wallet_proofs")
    chain = models.CharField(max_length=16)
    purpose = models.CharField(
        max_length=8, choices=ProofPurpose, default=ProofPurpose.CHECKOUT, db_default=ProofPurpose.CHECKOUT
    )
    # The public id of what it proves something about, which the message does not tell: a refund.
    subject = models.CharField(max_length=40, blank=True, db_default="")
    # In canonical form.
    address = models.CharField(max_length=80)
    nonce = models.CharField(max_length=32, unique=True)
    # The person of the merchant; nobody if a payer asked.
    requested_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
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


class ReceivingWalletQuerySet(models.QuerySet["ReceivingWallet"]):
    """Named sets of wallets."""

    def of_checkouts(self) -> "ReceivingWalletQuerySet":
        """Wallets that buyers or deposit addresses pay."""
        return self.filter(purpose=ClaimKind.CHECKOUT)

    def of_machines(self) -> "ReceivingWalletQuerySet":
        """Wallets that x402 payments go to, on chains without forwarders."""
        return self.filter(purpose=ClaimKind.X402)


class ReceivingWallet(models.Model):
    """A merchant's own wallet on a chain, where its money ends up. The address is in canonical form.

    One for checkouts, and on chains without forwarders another for machines (x402), so that payments are not ambiguous.
    """

    merchant = models.ForeignKey(Merchant, models.CASCADE, related_name="receiving_wallets")
    chain = models.CharField(max_length=16)
    purpose = models.CharField(
        max_length=8, choices=ClaimKind, default=ClaimKind.CHECKOUT, db_default=ClaimKind.CHECKOUT
    )
    # On chains where only amounts identify payments, two merchants must not share an address.
    of_one_merchant = models.BooleanField(default=True, db_default=True)
    address = models.CharField(max_length=80)
    # The address as raw bytes, by which a chain's recipients are joined (`ChainFamily.address_key`).
    key = models.BinaryField(max_length=40)
    created_at = models.DateTimeField(default=timezone.now)
    # Payments are expected until then: its chain is read at full pace, and on chains read by account, this one first.
    expected_until = models.DateTimeField(null=True)
    # A replaced wallet keeps its row: addresses derived for it still pay it.
    retired_at = models.DateTimeField(null=True)
    # The proof that the merchant holds its key; a proof is for one wallet.
    proof = models.OneToOneField(WalletProof, models.RESTRICT, null=True, related_name="wallet")
    # When it was retired because another merchant proved its key.
    taken_over_at = models.DateTimeField(null=True)
    # When its chain last said what it is; null if it was stored before chains were asked.
    inspected_at = models.DateTimeField(null=True)
    # What its chain says against it, in words that follow "The address"; empty if nothing.
    objection = models.CharField(max_length=200, blank=True, db_default="")
    # When it was retired because it surely loses what it receives.
    refused_at = models.DateTimeField(null=True)
    # From this time on, this merchant expects no payment to it, and the merchant who proved it may use it.
    released_at = models.DateTimeField(null=True)

    objects = ReceivingWalletQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["merchant", "chain", "purpose"],
                condition=Q(retired_at=None),
                name="one_receiving_wallet_per_chain",
            ),
            models.CheckConstraint(condition=Q(purpose__in=ClaimKind.values), name="receiving_wallet_purpose_known"),
            models.UniqueConstraint(
                fields=["chain", "address"],
                condition=Q(retired_at=None, of_one_merchant=True),
                name="receiving_wallet_of_one_merchant",
            ),
        ]
        indexes = [
            models.Index(fields=["chain", "key"], name="receiving_wallet_by_key"),
            models.Index(
                fields=["chain", "expected_until"],
                condition=Q(expected_until__isnull=False),
                name="receiving_wallet_expected",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.chain}:{self.address}"


class WalletChange(models.Model):
    """A requested change of a receiving wallet. It waits, so that the owners can cancel an unwanted one.

    One for machines (x402) waits only for payments to others. It ends once: applied, cancelled, or refused when due, with
    the reason in `failure`.
    """

    OPEN = _OPEN_CHANGE

    merchant = models.ForeignKey(Merchant, models.CASCADE, related_name="wallet_changes")
    chain = models.CharField(max_length=16)
    purpose = models.CharField(
        max_length=8, choices=ClaimKind, default=ClaimKind.CHECKOUT, db_default=ClaimKind.CHECKOUT
    )
    of_one_merchant = models.BooleanField(default=True, db_default=True)
    # In canonical form.
    address = models.CharField(max_length=80)
    requested_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    requested_at = models.DateTimeField()
    effective_at = models.DateTimeField()
    applied_at = models.DateTimeField(null=True)
    cancelled_at = models.DateTimeField(null=True)
    failed_at = models.DateTimeField(null=True)
    failure = models.CharField(max_length=200, blank=True)
    # A proven change also waits until payments to the address's other users have ended.
    proof = models.OneToOneField(WalletProof, models.RESTRICT, null=True, related_name="change")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["merchant", "chain", "purpose"], condition=_OPEN_CHANGE, name="wallet_change_open_once"
            ),
            # Of several merchants who proved an address, one is next.
            models.UniqueConstraint(
                fields=["chain", "address"],
                condition=_OPEN_CHANGE & Q(proof__isnull=False, of_one_merchant=True),
                name="proven_wallet_awaited_by_one",
            ),
            models.CheckConstraint(
                condition=Q(applied_at=None, cancelled_at=None)
                | Q(applied_at=None, failed_at=None)
                | Q(cancelled_at=None, failed_at=None),
                name="wallet_change_ends_once",
            ),
        ]
        indexes = [models.Index(fields=["effective_at"], condition=_OPEN_CHANGE, name="wallet_change_due")]

    def __str__(self) -> str:
        return f"{self.chain}:{self.address}"

    @property
    def is_open(self) -> bool:
        """Whether it still waits."""
        return not (self.applied_at or self.cancelled_at or self.failed_at)
