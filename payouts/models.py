"""Payouts, the money that they send back, their approvals, and what was handed out to be signed.

A refund is a payout with sources. A payout is paid by a movement on the chain, never by a person's word (decision 27).
"""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.models import Merchant, User
from accounts.states import Mode
from gateway.core.money import TOKEN_DIGITS
from payouts.states import (
    ADDRESSLESS,
    UNSENT,
    AddressBy,
    BatchStatus,
    Method,
    PayoutException,
    PayoutKind,
    PayoutStatus,
    PayoutStepKind,
    Trouble,
)
from settlements.models import GasTransaction
from wallets.models import Transfer, WatchedMovement, WatchedWallet

REASON_LENGTH = 200
REFERENCE_LENGTH = 128
EMAIL_LENGTH = 254
OBJECTION_LENGTH = 200


class PayoutBatch(models.Model):
    """Payouts of one chain and token that one wallet is asked to pay together. Its wallet never changes."""

    public_id = models.CharField(max_length=40, unique=True)
    merchant = models.ForeignKey(Merchant, models.PROTECT, related_name="+", db_index=False)
    mode = models.CharField(max_length=4, choices=Mode)
    chain = models.CharField(max_length=16)
    token = models.CharField(max_length=12)
    # The paying wallet, whose outflows are watched.
    wallet = models.ForeignKey(WatchedWallet, models.PROTECT, related_name="payout_batches")
    method = models.CharField(max_length=13, choices=Method)
    # SHA-256 over the payouts' ids, addresses and units: people compare its first digits.
    digest = models.BinaryField(max_length=32)
    # Until when what was signed can be paid; null: it never ends by itself.
    valid_until = models.DateTimeField(null=True)
    status = models.CharField(max_length=9, choices=BatchStatus, default=BatchStatus.OPEN)
    created_by = models.ForeignKey(User, models.PROTECT, related_name="+", db_index=False)
    created_at = models.DateTimeField(default=timezone.now)
    # When its payouts may be paid by another batch, if it was cancelled.
    cooling_until = models.DateTimeField(null=True)
    cancelled_at = models.DateTimeField(null=True)
    closed_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "payouts_batch"
        constraints = [
            models.CheckConstraint(condition=Q(status__in=BatchStatus.values), name="payout_batch_status_known")
        ]
        indexes = [
            models.Index(fields=["merchant", "mode", "-id"], name="payout_batch_list"),
            models.Index(fields=["id"], condition=~Q(status=BatchStatus.CLOSED), name="payout_batch_unclosed"),
        ]

    def __str__(self) -> str:
        return self.public_id


class PayoutQuerySet(models.QuerySet["Payout"]):
    """Named sets of payouts."""

    def of(self, merchant_id: int, mode: str) -> "PayoutQuerySet":
        """Return the payouts of a merchant in a mode."""
        return self.filter(merchant=merchant_id, mode=mode)

    def locked(self) -> "PayoutQuerySet":
        """Return rows locked in the usual order, ready to be moved."""
        return self.select_for_update(of=("self",), no_key=True).order_by("pk")


class Payout(models.Model):
    """Money that a merchant sends from its own wallet: one amount of one token to one address.

    `units` are base units of `token`. Until its address is known, `chain` and `token` are what is paid if nothing else is
    chosen.
    """

    public_id = models.CharField(max_length=40, unique=True)
    # Needs no index: the lists' indexes below begin with it.
    merchant = models.ForeignKey(Merchant, models.PROTECT, related_name="payouts", db_index=False)
    mode = models.CharField(max_length=4, choices=Mode)
    kind = models.CharField(max_length=6, choices=PayoutKind)
    status = models.CharField(max_length=9, choices=PayoutStatus)
    exception = models.CharField(max_length=12, choices=PayoutException, default=PayoutException.NONE, blank=True)
    chain = models.CharField(max_length=16)
    token = models.CharField(max_length=12)
    # What the recipient may choose from: [[chain, token], ...], each worth the same.
    choices = models.JSONField(default=list)
    units = models.DecimalField(max_digits=TOKEN_DIGITS, decimal_places=0)
    # The amount that was asked for in another currency, and how it was converted, once (`payouts.lifecycle.quotes`), as the API shows
    # it. Null: it was asked for in the token.
    quote = models.JSONField(null=True)
    # In canonical form; empty until it is known.
    address = models.CharField(max_length=80, blank=True)
    # Counts the addresses that it had: an approval is of one of them.
    revision = models.PositiveIntegerField(default=0)
    address_by = models.CharField(max_length=6, choices=AddressBy, blank=True)
    # Whether it goes only to an address that its money came from, whose key signs our message (`payouts.lifecycle.payers`).
    requires_proof = models.BooleanField(default=False, db_default=False)
    # When a signature of the address's key was checked.
    proved_at = models.DateTimeField(null=True)
    # When a chain said what the address is; null: it was not asked, or no node answered (`payouts.lifecycle.recipients`).
    inspected_at = models.DateTimeField(null=True)
    # The chain on which the address is a contract wallet, its own or another; empty for a key's own account.
    contract_on = models.CharField(max_length=16, blank=True, default="", db_default="")
    # Why nobody may be paid there, as the chain said after the address was stored. A payout with one is not approved.
    objection = models.CharField(max_length=OBJECTION_LENGTH, blank=True, default="", db_default="")
    # What the recipient reads.
    reason = models.CharField(max_length=REASON_LENGTH, blank=True)
    # The merchant's own name for it, which makes asking for it idempotent.
    reference = models.CharField(max_length=REFERENCE_LENGTH, blank=True)
    email = models.CharField(max_length=EMAIL_LENGTH, blank=True)
    # JSON text as the merchant sent it.
    metadata = models.TextField(default="{}")
    # SHA-256 of the claim page's code, which is stored nowhere (`payouts.lifecycle.claims`).
    claim_digest = models.BinaryField(max_length=32, null=True)
    claim_until = models.DateTimeField(null=True)
    batch = models.ForeignKey(PayoutBatch, models.PROTECT, null=True, related_name="payouts")
    # The outflow that pays it, final or not yet.
    movement = models.ForeignKey(WatchedMovement, models.PROTECT, null=True, related_name="+", db_index=False)
    # The transaction of a refund that was noted before payouts existed. Nobody checked it.
    imported_tx = models.CharField(max_length=128, blank=True)
    requested_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+", db_index=False)
    # The public id of the API key that asked.
    requested_key = models.CharField(max_length=40, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    # When the present address became known.
    addressed_at = models.DateTimeField(null=True)
    approved_at = models.DateTimeField(null=True)
    paid_at = models.DateTimeField(null=True)
    # When it was cancelled, or expired.
    ended_at = models.DateTimeField(null=True)

    objects = PayoutQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(status__in=PayoutStatus.values), name="payout_status_known"),
            models.CheckConstraint(condition=Q(units__gt=0), name="payout_units_positive"),
            models.UniqueConstraint(fields=["movement"], name="payout_of_one_movement"),
            models.CheckConstraint(
                condition=~Q(status=PayoutStatus.PAID) | Q(movement__isnull=False) | ~Q(imported_tx=""),
                name="payout_paid_by_the_chain",
            ),
            models.CheckConstraint(
                condition=Q(status=PayoutStatus.PAID, paid_at__isnull=False)
                | ~Q(status=PayoutStatus.PAID) & Q(paid_at=None),
                name="payout_paid_has_time",
            ),
            models.CheckConstraint(
                condition=~Q(address="") | Q(status__in=[str(status) for status in ADDRESSLESS]) | ~Q(imported_tx=""),
                name="payout_has_an_address",
            ),
            # Whatever sets an address, it sets none without the proof.
            models.CheckConstraint(
                condition=Q(requires_proof=False) | Q(address="") | Q(proved_at__isnull=False),
                name="payout_proved_where_required",
            ),
            # Nothing is said of an address by a chain that was not asked.
            models.CheckConstraint(
                condition=Q(contract_on="", objection="") | Q(inspected_at__isnull=False),
                name="payout_inspected_where_said",
            ),
            models.CheckConstraint(
                condition=~Q(status=PayoutStatus.APPROVED) | Q(objection=""), name="payout_approved_without_objection"
            ),
            models.UniqueConstraint(
                fields=["merchant", "mode", "reference"], condition=~Q(reference=""), name="payout_once_per_reference"
            ),
            models.UniqueConstraint(fields=["claim_digest"], name="payout_of_one_claim"),
        ]
        indexes = [
            models.Index(fields=["merchant", "mode", "-id"], name="payout_list"),
            models.Index(fields=["merchant", "mode", "status", "-id"], name="payout_by_status"),
            # What people are told of since the last time.
            models.Index(fields=["paid_at"], condition=Q(paid_at__isnull=False), name="payout_by_payment"),
            # Which payout an outflow pays, and look-alikes of an address.
            models.Index(
                fields=["merchant", "mode", "chain", "address"], condition=Q(address__gt=""), name="payout_by_address"
            ),
            models.Index(fields=["claim_until"], condition=Q(status=PayoutStatus.OPEN), name="payout_claim_due"),
            # Those that an outflow may pay.
            models.Index(
                fields=["id"], condition=Q(status__in=["requested", "approved", "sending"]), name="payout_waiting"
            ),
            # Those that lose their source to a reorg.
            models.Index(
                fields=["id"], condition=Q(status__in=[str(status) for status in UNSENT]), name="payout_unsent"
            ),
        ]

    def __str__(self) -> str:
        return self.public_id


class PayoutSource(models.Model):
    """How much of a transfer that came in a refund sends back; the sources of a refund add up to it."""

    payout = models.ForeignKey(Payout, models.PROTECT, related_name="sources", db_index=False)
    transfer = models.ForeignKey(Transfer, models.PROTECT, related_name="payout_sources")
    # Base units of the transfer's token.
    units = models.DecimalField(max_digits=TOKEN_DIGITS, decimal_places=0)

    class Meta:
        db_table = "payouts_source"
        constraints = [
            models.UniqueConstraint(fields=["payout", "transfer"], name="payout_source_once"),
            models.CheckConstraint(condition=Q(units__gt=0), name="payout_source_units_positive"),
        ]

    def __str__(self) -> str:
        return f"{self.payout_id} <- {self.transfer_id}"


class PayoutApproval(models.Model):
    """One person's approval of one address of a payout. Two approvals are two people."""

    payout = models.ForeignKey(Payout, models.PROTECT, related_name="approvals", db_index=False)
    revision = models.PositiveIntegerField()
    user = models.ForeignKey(User, models.PROTECT, related_name="+")
    approved_at = models.DateTimeField()
    # Outflows of a time that a restore lost, and that may have paid it: the person saw them (`payouts.outflows.lost_outflows`).
    despite = ArrayField(models.BigIntegerField(), null=True)

    class Meta:
        db_table = "payouts_approval"
        constraints = [models.UniqueConstraint(fields=["payout", "revision", "user"], name="payout_approved_once")]

    def __str__(self) -> str:
        return f"{self.payout_id}/{self.revision}: {self.user_id}"


class PayoutRequest(models.Model):
    """What a paying wallet was given to sign for a payout, and what came of it."""

    payout = models.ForeignKey(Payout, models.PROTECT, related_name="requests", db_index=False)
    batch = models.ForeignKey(PayoutBatch, models.PROTECT, related_name="requests")
    raw = models.BinaryField()
    signature = models.BinaryField(null=True)
    # Where it is known before the transaction is sent.
    tx_hash = models.CharField(max_length=128, blank=True)
    # Until when the chain accepts it; null: for ever.
    valid_until = models.DateTimeField(null=True)
    gas_transaction = models.ForeignKey(GasTransaction, models.PROTECT, null=True, related_name="+")
    # Why it was signed and is not sent, as of the last look.
    trouble = models.CharField(max_length=7, choices=Trouble, blank=True, default=Trouble.NONE, db_default="")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        db_table = "payouts_request"
        constraints = [models.UniqueConstraint(fields=["payout", "batch"], name="payout_request_once_per_batch")]

    def __str__(self) -> str:
        return f"{self.payout_id} in {self.batch_id}"


class PayoutSurplus(models.Model):
    """A final outflow that sent a payout once more, or though it was cancelled. It is reported, and pays nothing by itself."""

    payout = models.ForeignKey(Payout, models.PROTECT, related_name="surplus")
    movement = models.OneToOneField(WatchedMovement, models.PROTECT, related_name="+")
    found_at = models.DateTimeField()

    class Meta:
        db_table = "payouts_surplus"

    def __str__(self) -> str:
        return f"{self.payout_id}: {self.movement_id}"


class PayoutStep(models.Model):
    """A step of a test payout's scenario: a row with a due time, so that a restart loses nothing."""

    payout = models.ForeignKey(Payout, models.CASCADE, related_name="steps")
    # The paying wallet, of test mode.
    wallet = models.ForeignKey(WatchedWallet, models.CASCADE, related_name="+", db_index=False)
    kind = models.CharField(max_length=9, choices=PayoutStepKind)
    # The simulated transaction's.
    tx_hash = models.CharField(max_length=100)
    due_at = models.DateTimeField()
    done_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "payouts_step"
        indexes = [models.Index(fields=["due_at"], condition=Q(done_at=None), name="payout_step_due")]

    def __str__(self) -> str:
        return f"{self.payout_id}: {self.kind} at {self.due_at}"
