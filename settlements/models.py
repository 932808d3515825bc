"""Settlements from forwarders to merchants, and gas accounts' transactions.

A gas key only pays for gas: its calls move tokens only as the forwarder's salt or the payer's signature says. Private keys
are never in the database.
"""

from functools import partial
from typing import Final

from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.models import Merchant, User
from accounts.states import Mode
from gateway.core.daily_totals import SumTable
from gateway.core.ids import new_id
from gateway.core.money import TOKEN_DIGITS
from settlements.states import Outcome, Purpose, ReleasedBy, Sender, SettlementStatus, TransactionState
from wallets.models import DepositAddress, DepositOutflow
from wallets.states import ClaimKind

# Fits any amount of wei.
WEI_DIGITS = 78

EMPTY_BYTES: Final = 150
"""At most how many bytes an empty transaction has, signed; one with a payment's call has more."""


class GasAccount(models.Model):
    """A gas key's account on a chain, with its next nonce; the row's lock is needed to assign it."""

    chain = models.CharField(max_length=16)
    address = models.CharField(max_length=42)  # EIP-55
    next_nonce = models.BigIntegerField(null=True)  # null until read from the chain
    balance_wei = models.DecimalField(max_digits=WEI_DIGITS, decimal_places=0, null=True)
    balance_at = models.DateTimeField(null=True)
    # When operators were last warned of a low balance.
    low_told_at = models.DateTimeField(null=True)
    # When operators were last warned of an implausible nonce.
    doubt_told_at = models.DateTimeField(null=True)
    # From then on it gets no new transactions, so that its key can be removed once those on their way are final.
    retired_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["chain", "address"], name="gas_account_once")]

    def __str__(self) -> str:
        return f"{self.chain}:{self.address}"


class GasTransaction(models.Model):
    """A transaction of a gas account for one nonce, stored before it is sent.

    All its attempts share the nonce, so at most one is ever mined, and sending them again is harmless.
    """

    account = models.ForeignKey(GasAccount, models.PROTECT, related_name="transactions")
    nonce = models.BigIntegerField()
    purpose = models.CharField(max_length=8, choices=Purpose)
    # Its purpose, unique: a second request for the same thing finds this row.
    reference = models.CharField(max_length=120)
    # For whose business it is, and who signed what it carries out (EIP-55); empty for sweeps, and for old rows.
    merchant = models.ForeignKey(Merchant, models.PROTECT, null=True, related_name="+", db_index=False)
    payer = models.CharField(max_length=42, blank=True, db_default="", default="")
    outcome = models.CharField(max_length=8, choices=Outcome, db_default=Outcome.OPEN, default=Outcome.OPEN)
    to = models.CharField(max_length=42)
    data = models.BinaryField()
    gas_limit = models.PositiveBigIntegerField()
    # Its maximum cost, by its most expensive attempt, in wei; it counts until the cost is known.
    most_wei = models.DecimalField(max_digits=WEI_DIGITS, decimal_places=0)
    state = models.CharField(max_length=8, choices=TransactionState, default=TransactionState.INTENDED)
    created_at = models.DateTimeField(default=timezone.now)
    # From then on it is not sent any more, because its call would revert.
    expires_at = models.DateTimeField(null=True)
    sent_at = models.DateTimeField(null=True)
    # From the mined attempt; empty until then.
    tx_hash = models.CharField(max_length=66, blank=True)
    block_height = models.BigIntegerField(null=True)
    block_hash = models.CharField(max_length=66, blank=True)
    succeeded = models.BooleanField(null=True)
    gas_used = models.PositiveBigIntegerField(null=True)
    # Its total cost, in wei.
    cost_wei = models.DecimalField(max_digits=WEI_DIGITS, decimal_places=0, null=True)
    mined_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["account", "nonce"], name="gas_nonce_used_once"),
            models.UniqueConstraint(
                fields=["purpose", "reference"],
                condition=~Q(state=TransactionState.DROPPED),
                name="gas_transaction_once_per_reference",
            ),
        ]
        indexes = [
            # Pending ones, lowest nonce first.
            models.Index(
                fields=["account", "nonce"],
                condition=Q(state__in=[TransactionState.INTENDED, TransactionState.SENT]),
                name="gas_transaction_open",
            ),
            # Spending within a part of a span.
            models.Index(fields=["account", "created_at"], name="gas_transaction_day"),
            # A merchant's part of a day's gas, and what of it failed or may fail: few rows of many.
            models.Index(
                fields=["merchant", "created_at"], condition=Q(merchant__isnull=False), name="gas_transaction_share"
            ),
            models.Index(
                fields=["merchant", "created_at"],
                condition=Q(merchant__isnull=False) & ~Q(outcome=Outcome.DONE),
                name="gas_transaction_failures",
            ),
            models.Index(
                fields=["payer", "created_at"],
                condition=~Q(payer="") & ~Q(outcome=Outcome.DONE),
                name="gas_transaction_by_payer",
            ),
            # Whether an account paid a merchant so before.
            models.Index(
                fields=["payer", "created_at"],
                condition=Q(purpose=Purpose.RELAY, outcome=Outcome.DONE),
                name="gas_transaction_paid_by",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.account_id}#{self.nonce}: {self.purpose}"


class GasSpan(models.Model):
    """A delta of a gas account's costs in ten minutes, inserted by triggers; a day's limit adds these rows up."""

    account = models.ForeignKey(GasAccount, models.CASCADE, related_name="spans", db_index=False)
    begins_at = models.DateTimeField()
    wei = models.DecimalField(max_digits=WEI_DIGITS, decimal_places=0)
    is_sum = models.BooleanField(default=False, db_default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["account", "begins_at"], condition=Q(is_sum=True), name="gas_span_once")
        ]
        indexes = [
            models.Index(fields=["account", "begins_at"], name="gas_span_read"),
            models.Index(fields=["id"], condition=Q(is_sum=False), name="gas_span_new"),
        ]

    def __str__(self) -> str:
        return f"{self.account_id} from {self.begins_at}"


class SponsoredTransaction(models.Model):
    """A payer's transaction on a chain whose transactions have no nonces (Solana), of which our account pays the network's fee.

    Both sign it, and it is stored before it is sent. The network takes it up to a block, so that sending it again is harmless.
    """

    chain = models.CharField(max_length=16)
    # Its purpose, unique: a second request for the same thing finds this row.
    reference = models.CharField(max_length=120)
    merchant = models.ForeignKey(Merchant, models.PROTECT, related_name="+", db_index=False)
    fee_payer = models.CharField(max_length=44)
    payer = models.CharField(max_length=44)
    signed = models.BinaryField()
    tx_hash = models.CharField(max_length=88)
    # What it costs us, in lamports; 0 once it is certain that no block took it.
    fee = models.PositiveBigIntegerField()
    # The last block height that may have it.
    last_height = models.BigIntegerField()
    outcome = models.CharField(max_length=8, choices=Outcome, db_default=Outcome.OPEN, default=Outcome.OPEN)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["reference"], name="sponsored_once_per_reference"),
            # Its balance may not cover two.
            models.UniqueConstraint(
                fields=["chain", "payer"], condition=Q(outcome=Outcome.OPEN), name="sponsored_one_open_per_payer"
            ),
        ]
        indexes = [
            models.Index(fields=["chain", "created_at"], name="sponsored_day"),
            models.Index(fields=["payer", "created_at"], name="sponsored_by_payer"),
        ]

    def __str__(self) -> str:
        return self.tx_hash


class RelayClaim(models.Model):
    """The only transaction of either ledger that may pay a subject: what its buyer signed for another chain is not sent meanwhile.

    `settlements.gas.claims` takes it, and passes it on once that transaction cannot pay any more.
    """

    # A checkout's public id.
    subject = models.CharField(max_length=40)
    transaction = models.ForeignKey(GasTransaction, models.CASCADE, null=True, related_name="+", db_index=False)
    sponsored = models.ForeignKey(SponsoredTransaction, models.CASCADE, null=True, related_name="+", db_index=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["subject"], name="relay_claim_of_one_transaction"),
            models.CheckConstraint(condition=Q(transaction=None) | Q(sponsored=None), name="relay_claim_in_one_ledger"),
        ]

    def __str__(self) -> str:
        return self.subject


GAS_SPANS: Final = SumTable("settlements_gasspan", ("account_id", "begins_at"), ("wei",))


class GasAttempt(models.Model):
    """One signed attempt of a transaction; a later one pays more for the same nonce."""

    transaction = models.ForeignKey(GasTransaction, models.CASCADE, related_name="attempts", db_index=False)
    number = models.PositiveSmallIntegerField()
    tx_hash = models.CharField(max_length=66, unique=True)
    # The signed bytes; cleared long after the nonce is used.
    raw = models.BinaryField()
    max_fee = models.DecimalField(max_digits=WEI_DIGITS, decimal_places=0)
    priority_fee = models.DecimalField(max_digits=WEI_DIGITS, decimal_places=0)
    signed_at = models.DateTimeField()
    sent_at = models.DateTimeField(null=True)
    error = models.CharField(max_length=200, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["transaction", "number"], name="gas_attempt_once")]
        indexes = [
            # Attempts with bytes to clear.
            models.Index(fields=["signed_at"], condition=~Q(raw=b""), name="gas_attempt_has_raw")
        ]

    def __str__(self) -> str:
        return self.tx_hash

    @property
    def is_empty(self) -> bool:
        """Whether it only uses its nonce: it has too few bytes for a call. Meaningless once they are cleared."""
        return len(self.raw) <= EMPTY_BYTES


class SettlementSettings(models.Model):
    """A merchant's schedule of automatic settlements. Without a row the defaults hold."""

    merchant = models.OneToOneField(Merchant, models.CASCADE, related_name="settlement_settings", primary_key=True)
    # In USD: the minimum of a token that a chain's forwarders hold together.
    minimum = models.DecimalField(max_digits=12, decimal_places=2, default=10)
    # Hours between two automatic settlements; 0 for none.
    every_hours = models.PositiveSmallIntegerField(default=24)

    class Meta:
        verbose_name_plural = "settlement settings"
        constraints = [models.CheckConstraint(condition=Q(minimum__gte=0), name="settlement_minimum_not_negative")]

    def __str__(self) -> str:
        return f"settlement settings of {self.merchant_id}"


class Settlement(models.Model):
    """One merchant's money in one token that one transaction moves from forwarders to the wallet."""

    public_id = models.CharField(max_length=40, unique=True, default=partial(new_id, "stl"))
    merchant = models.ForeignKey(Merchant, models.PROTECT, related_name="settlements", db_index=False)
    mode = models.CharField(max_length=4, choices=Mode)
    purpose = models.CharField(max_length=8, choices=ClaimKind)
    chain = models.CharField(max_length=16)
    token = models.CharField(max_length=12)
    # The merchant's wallet.
    to = models.CharField(max_length=80)
    # The forwarders' balances when it was written, and the arrived amount by the token's events.
    units = models.DecimalField(max_digits=TOKEN_DIGITS, decimal_places=0)
    units_moved = models.DecimalField(max_digits=TOKEN_DIGITS, decimal_places=0, default=0)
    status = models.CharField(max_length=8, choices=SettlementStatus, default=SettlementStatus.PENDING)
    sender = models.CharField(max_length=8, choices=Sender, default=Sender.GATEWAY)
    # Automatic: the merchant's interval had passed.
    is_scheduled = models.BooleanField(default=False)
    # Settlements of several merchants that share one transaction.
    batch = models.CharField(max_length=40, blank=True)
    transaction = models.ForeignKey(GasTransaction, models.PROTECT, null=True, related_name="settlements")
    tx_hash = models.CharField(max_length=100, blank=True)
    error = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    settled_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(status__in=SettlementStatus.values), name="settlement_status_known"),
            models.CheckConstraint(
                condition=~Q(status=SettlementStatus.SETTLED) | Q(settled_at__isnull=False),
                name="settlement_settled_has_time",
            ),
        ]
        indexes = [
            models.Index(fields=["merchant", "mode", "-id"], name="settlement_list"),
            models.Index(
                fields=["chain", "id"],
                condition=Q(status__in=[SettlementStatus.PENDING, SettlementStatus.SENT]),
                name="settlement_open",
            ),
        ]

    def __str__(self) -> str:
        return self.public_id


class SettlementItem(models.Model):
    """A forwarder of a settlement. While open, it is in no other one, so that gas is not paid twice."""

    settlement = models.ForeignKey(Settlement, models.CASCADE, related_name="items", db_index=False)
    deposit = models.ForeignKey(DepositAddress, models.PROTECT, related_name="settlement_items", db_index=False)
    token = models.CharField(max_length=12)
    chain = models.CharField(max_length=16)
    units = models.DecimalField(max_digits=TOKEN_DIGITS, decimal_places=0)
    # What arrived, once known.
    units_moved = models.DecimalField(max_digits=TOKEN_DIGITS, decimal_places=0, null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["settlement", "deposit"], name="settlement_item_once"),
            models.UniqueConstraint(
                fields=["deposit", "chain", "token"],
                condition=Q(ended_at=None),
                name="forwarder_in_one_open_settlement",
            ),
        ]
        indexes = [
            # Recent history of a forwarder.
            models.Index(fields=["deposit", "ended_at"], name="settlement_item_by_forwarder")
        ]

    def __str__(self) -> str:
        return f"{self.settlement_id}: {self.deposit_id}"


class Hold(models.Model):
    """A checkout's forwarders that our sweeps skip until a team member releases them (escrow).

    Third parties are not bound by it: a forwarder pays its merchant no matter who flushes it.
    """

    merchant = models.ForeignKey(Merchant, models.PROTECT, related_name="+", db_index=False)
    mode = models.CharField(max_length=4, choices=Mode)
    # The checkout's public id, and the nonce of its forwarders.
    subject_id = models.CharField(max_length=40, unique=True)
    nonce = models.BinaryField(max_length=32, unique=True)
    created_at = models.DateTimeField(default=timezone.now)
    released_at = models.DateTimeField(null=True)
    released_by = models.CharField(max_length=8, choices=ReleasedBy, blank=True)
    released_actor = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(released_at=None, released_by="")
                | Q(released_at__isnull=False, released_by__in=ReleasedBy.values),
                name="hold_released_by_somebody",
            )
        ]
        indexes = [models.Index(fields=["merchant", "mode", "-id"], name="hold_list")]

    def __str__(self) -> str:
        return self.subject_id


class TroubledForwarder(models.Model):
    """A forwarder that our transaction failed to empty. After too many failures it is skipped.

    Each try costs gas; after the third, a person must look (`manage.py retry_forwarders`).
    """

    MOST_FAILURES = 3

    deposit = models.ForeignKey(DepositAddress, models.PROTECT, related_name="+", db_index=False)
    chain = models.CharField(max_length=16)
    token = models.CharField(max_length=12)
    failures = models.PositiveSmallIntegerField()
    failed_at = models.DateTimeField()
    # Not tried before.
    retry_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["deposit", "chain", "token"], name="troubled_forwarder_once")]

    def __str__(self) -> str:
        return f"{self.deposit_id}: {self.failures} failures"


class SettledOutflow(models.Model):
    """The settlement of an outflow; each outflow belongs to one."""

    outflow = models.OneToOneField(DepositOutflow, models.CASCADE, primary_key=True, related_name="settled")
    settlement = models.ForeignKey(Settlement, models.CASCADE, related_name="outflows")

    def __str__(self) -> str:
        return f"{self.settlement_id}: {self.outflow_id}"


class BookCheck(models.Model):
    """The result of the last comparison of a chain's books, with their rows and with the chain."""

    chain = models.CharField(max_length=16, unique=True)
    checked_at = models.DateTimeField()
    # How many forwarders' balances were read, and at which block the last; null if the chain did not answer.
    asked = models.PositiveIntegerField(default=0)
    height = models.BigIntegerField(null=True)
    # The differences, a sentence each.
    differences = models.JSONField(default=list)

    def __str__(self) -> str:
        return f"books of {self.chain}"
