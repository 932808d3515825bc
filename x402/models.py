"""Machine payments: payments, authorisations, forwarders and kept responses."""

from functools import partial

from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.models import IdempotentRequest, Merchant
from accounts.states import Mode
from gateway.core.ids import new_id
from gateway.core.money import TOKEN_DIGITS
from settlements.models import GasTransaction
from wallets.models import DepositAddress, Transfer
from x402.states import AuthorizationState, PaymentStatus, Protocol

RESOURCE_LENGTH = 2048
PROOF_LENGTH = 100


class MachineSettings(models.Model):
    """A merchant's requirements for machines' payments. Without a row the defaults hold."""

    merchant = models.OneToOneField(Merchant, models.CASCADE, related_name="machine_settings", primary_key=True)
    # Anyone who sees a hash first could use it; requiring a signature prevents that.
    requires_signature = models.BooleanField(default=False)

    def __str__(self) -> str:
        return f"machine settings of {self.merchant_id}"


class Forwarder(models.Model):
    """Where a merchant's machines pay on chains with forwarders: one for each receiving wallet."""

    merchant = models.ForeignKey(Merchant, models.PROTECT, related_name="+", db_index=False)
    deposit = models.OneToOneField(DepositAddress, models.PROTECT, related_name="+")
    # The 20 bytes of the receiving wallet.
    destination = models.BinaryField(max_length=20)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["merchant", "destination"], name="x402_forwarder_once")]

    def __str__(self) -> str:
        return f"{self.merchant_id}: {self.deposit_id}"


class X402Payment(models.Model):
    """A transfer that paid for one thing, once: the first insert of its key wins."""

    public_id = models.CharField(max_length=40, unique=True, default=partial(new_id, "x4p"))
    merchant = models.ForeignKey(Merchant, models.PROTECT, related_name="x402_payments", db_index=False)
    mode = models.CharField(max_length=4, choices=Mode)
    protocol = models.CharField(max_length=5, choices=Protocol)
    chain = models.CharField(max_length=16)
    # In the chain's own spelling, as in transfers.
    tx_hash = models.CharField(max_length=PROOF_LENGTH)
    position = models.PositiveIntegerField()
    token = models.CharField(max_length=12)
    units = models.DecimalField(max_digits=TOKEN_DIGITS, decimal_places=0)
    # The requested amount; never more than `units`.
    required_units = models.DecimalField(max_digits=TOKEN_DIGITS, decimal_places=0)
    payer = models.CharField(max_length=80)
    pay_to = models.CharField(max_length=80)
    # Whether the payer proved by a signature that the transaction is theirs.
    is_signed = models.BooleanField(default=False)
    resource = models.CharField(max_length=RESOURCE_LENGTH, blank=True)
    status = models.CharField(max_length=8, choices=PaymentStatus, default=PaymentStatus.VERIFIED)
    block_height = models.BigIntegerField(null=True)
    block_time = models.DateTimeField(null=True)
    verified_at = models.DateTimeField()
    final_at = models.DateTimeField(null=True)
    settled_at = models.DateTimeField(null=True)
    reversed_at = models.DateTimeField(null=True)
    # When two nodes were found to know its transfer.
    witnessed_at = models.DateTimeField(null=True)
    # SHA-256 of the request whose valid response nobody read: the same request gets it once more.
    unread_digest = models.BinaryField(max_length=32, null=True)
    # Set once a watcher has recorded it too; never in test mode.
    transfer = models.OneToOneField(Transfer, models.PROTECT, null=True, related_name="x402_payment")

    class Meta:
        db_table = "x402_payment"
        verbose_name = "x402 payment"
        constraints = [
            # Ensures "one transfer pays once" in the whole system. Simulated ones are separate for each merchant.
            models.UniqueConstraint(
                fields=["chain", "tx_hash", "position"], condition=Q(mode=Mode.LIVE), name="x402_proof_used_once"
            ),
            models.UniqueConstraint(
                fields=["merchant", "chain", "tx_hash", "position"],
                condition=Q(mode=Mode.TEST),
                name="x402_test_proof_used_once",
            ),
            models.CheckConstraint(
                condition=Q(units__gt=0, units__gte=models.F("required_units")), name="x402_payment_is_enough"
            ),
            models.CheckConstraint(condition=Q(status__in=PaymentStatus.values), name="x402_payment_status_known"),
        ]
        indexes = [
            models.Index(fields=["merchant", "mode", "-id"], name="x402_payment_list"),
            models.Index(fields=["merchant", "mode", "verified_at"], name="x402_payment_by_day"),
            # Watched until final.
            models.Index(
                fields=["chain", "id"],
                condition=Q(mode=Mode.LIVE, final_at=None, reversed_at=None),
                name="x402_payment_unfinal",
            ),
            # What a payer paid a moment ago, which its balance may not include yet.
            models.Index(fields=["payer", "verified_at"], condition=Q(mode=Mode.LIVE), name="x402_payment_by_payer"),
            # Responses that nobody read.
            models.Index(fields=["merchant"], condition=Q(unread_digest__isnull=False), name="x402_payment_unread"),
            # What a seller got on one node's word.
            models.Index(
                fields=["merchant", "verified_at"],
                include=["units"],
                condition=Q(mode=Mode.LIVE, witnessed_at=None),
                name="x402_payment_unwitnessed",
            ),
            # Watched until its money is in the merchant's wallet.
            models.Index(
                fields=["id"],
                condition=Q(mode=Mode.LIVE, status=PaymentStatus.VERIFIED, final_at__isnull=False),
                name="x402_payment_unsettled",
            ),
        ]

    def __str__(self) -> str:
        return self.public_id


class Sighting(models.Model):
    """When a merchant first asked about a transaction: its age counts from then, despite later outages."""

    merchant = models.ForeignKey(Merchant, models.CASCADE, related_name="+", db_index=False)
    chain = models.CharField(max_length=16)
    tx_hash = models.CharField(max_length=PROOF_LENGTH)
    seen_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["merchant", "chain", "tx_hash"], name="x402_sighting_once")]
        indexes = [models.Index(fields=["seen_at"], name="x402_sighting_by_time")]

    def __str__(self) -> str:
        return f"{self.chain}:{self.tx_hash}"


class KeptAnswer(IdempotentRequest):
    """A response kept under an Idempotency-Key, so that repetitions get the same. Only `valid: true` is kept."""

    answer = models.JSONField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["merchant", "mode", "key"], name="x402_answer_once")]
        indexes = [models.Index(fields=["created_at"], name="x402_answer_by_time")]


class Authorization(models.Model):
    """A payer's signed authorisation (the standard's schemes `exact` and `upto`): carried out once, and served once.

    The token contract or program accepts `nonce` once: EIP-3009's or Permit2's nonce, on Solana the hash of the
    transaction's message.
    """

    merchant = models.ForeignKey(Merchant, models.PROTECT, related_name="+", db_index=False)
    mode = models.CharField(max_length=4, choices=Mode)
    chain = models.CharField(max_length=16)
    token = models.CharField(max_length=12)
    payer = models.CharField(max_length=80)
    nonce = models.CharField(max_length=100)
    pay_to = models.CharField(max_length=80)
    # What is moved. Of scheme `upto` it is 0 if nothing was used.
    units = models.DecimalField(max_digits=TOKEN_DIGITS, decimal_places=0)
    # Scheme `upto` only: the maximum that the payer signed.
    most_units = models.DecimalField(max_digits=TOKEN_DIGITS, decimal_places=0, null=True)
    resource = models.CharField(max_length=RESOURCE_LENGTH, blank=True)
    state = models.CharField(max_length=7, choices=AuthorizationState, default=AuthorizationState.TAKEN)
    # The process that carries it out, until then; after a crash the next request takes over.
    taken_until = models.DateTimeField(null=True)
    transaction = models.ForeignKey(GasTransaction, models.PROTECT, null=True, related_name="+")
    tx_hash = models.CharField(max_length=PROOF_LENGTH, blank=True)
    # Solana only, where payer and gas account sign one transaction: the whole of it, and its maximum cost to us in
    # lamports.
    signed = models.BinaryField(null=True)
    network_fee = models.BigIntegerField(null=True)
    # The standard's version of the request, and in scheme `upto` the Unix time until which the signature holds.
    pending = models.JSONField(null=True)
    # The final response.
    answer = models.JSONField(null=True)
    # When a settle request got `success`, and its Idempotency-Key.
    served_at = models.DateTimeField(null=True)
    served_key = models.CharField(max_length=255, blank=True)
    # The resource of the receipt that it got with it; "" for none. Repeats get no other.
    receipt_for = models.CharField(max_length=RESOURCE_LENGTH, blank=True, default="", db_default="")
    payment = models.OneToOneField(X402Payment, models.PROTECT, null=True, related_name="authorization")
    # SHA-256 of the payer's own id of this payment.
    identifier = models.BinaryField(max_length=32, null=True)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["chain", "token", "payer", "nonce"], condition=Q(mode=Mode.LIVE), name="x402_authorization_once"
            ),
            models.CheckConstraint(
                condition=Q(state__in=AuthorizationState.values), name="x402_authorization_state_known"
            ),
            models.CheckConstraint(
                condition=Q(most_units=None) | Q(units__gte=0, units__lte=models.F("most_units")),
                name="x402_authorization_within_signed",
            ),
            # A payer that signs anew under its id pays once.
            models.UniqueConstraint(
                fields=["merchant", "mode", "payer", "identifier"],
                condition=Q(identifier__isnull=False),
                name="x402_identifier_of_one_payment",
            ),
        ]
        indexes = [
            models.Index(fields=["tx_hash"], name="x402_authorization_by_tx"),
            models.Index(
                fields=["chain", "created_at"],
                include=["merchant", "network_fee"],
                condition=Q(network_fee__isnull=False),
                name="x402_authorization_spending",
            ),
            # Open ones, which block proofs by hash of the same money.
            models.Index(
                fields=["chain", "pay_to"],
                condition=Q(state__in=[AuthorizationState.TAKEN, AuthorizationState.SENT]),
                name="x402_authorization_open",
            ),
            # Ones that a reorg may still let succeed.
            models.Index(
                fields=["created_at"],
                condition=Q(state=AuthorizationState.FAILED, payment=None, transaction__isnull=False),
                name="x402_authorization_failed",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.chain}:{self.payer}/{self.nonce}"
