"""Deposit addresses, and what left them."""

from django.db import models
from django.utils import timezone

from accounts.models import Merchant
from accounts.states import Mode
from wallets.models.facts import ChainFact
from wallets.states import ClaimKind, TransferState


class DepositAddress(models.Model):
    """A CREATE2 forwarder address: what is sent there can only reach `destination`.

    `key` is the address as 20 raw bytes, the form in which logs are joined; `wallets.forwarders.addresses.checksum` writes it.
    """

    key = models.BinaryField(max_length=20, unique=True)
    destination = models.BinaryField(max_length=20)
    # 32 random bytes; with the destination they make the salt.
    nonce = models.BinaryField(max_length=32)
    # Found by key, nonce or id; an index by merchant would cost every creation and answer nobody.
    merchant = models.ForeignKey(
        Merchant, models.PROTECT, related_name="+", db_index=False
    )
    mode = models.CharField(max_length=4, choices=Mode)
    # What it was given out for: a checkout, or a merchant's machines.
    purpose = models.CharField(
        max_length=8,
        choices=ClaimKind,
        default=ClaimKind.CHECKOUT,
        db_default=ClaimKind.CHECKOUT,
    )
    created_at = models.DateTimeField(default=timezone.now)
    # Thirty days after its checkout expires. It sets the pace at which chains are read (`wallets.watchers.demand`); the
    # address itself is watched for ever.
    watched_until = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["nonce", "destination"], name="deposit_address_once_per_salt"
            )
        ]
        indexes = [
            # Who is watched by name is a question by mode alone; whether anybody may be paying, by both.
            models.Index(
                fields=["mode", "watched_until"], name="deposit_address_watched"
            ),
        ]

    def __str__(self) -> str:
        return f"0x{bytes(self.key).hex()}"


class DepositOutflow(ChainFact):
    """A token movement out of a deposit address: it can only be to its destination, whoever had it sent there."""

    deposit = models.ForeignKey(DepositAddress, models.PROTECT, related_name="outflows")
    recipient = models.CharField(max_length=80)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["chain", "tx_hash", "position", "deposit", "token"],
                name="deposit_outflow_once",
            ),
            models.CheckConstraint(
                condition=models.Q(units__gt=0), name="deposit_outflow_units_positive"
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=TransferState.values),
                name="deposit_outflow_state_known",
            ),
        ]
        indexes = [
            models.Index(
                fields=["chain", "block_height"],
                condition=models.Q(state=TransferState.DETECTED),
                name="deposit_outflow_unconfirmed",
            ),
            models.Index(
                fields=["chain", "block_height"], name="deposit_outflow_by_block"
            ),
        ]


class DepositBalance(models.Model):
    """What a deposit address took in of a token on a chain, and what left it: final movements of real money only.

    Triggers keep it in the transaction of whoever writes transfers and outflows. Somebody may have paid with dust what
    was never watched for, so that `flushed` may be above `received`.
    """

    deposit = models.ForeignKey(
        DepositAddress, models.PROTECT, related_name="balances", db_index=False
    )
    merchant = models.ForeignKey(
        Merchant, models.PROTECT, related_name="+", db_index=False
    )
    purpose = models.CharField(max_length=8, choices=ClaimKind)
    chain = models.CharField(max_length=16)
    token = models.CharField(max_length=12)
    # Base units; wider than one uint256, as any number of the largest transfers fits.
    received = models.DecimalField(max_digits=96, decimal_places=0, default=0)
    flushed = models.DecimalField(max_digits=96, decimal_places=0, default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["deposit", "chain", "token"], name="deposit_balance_once"
            )
        ]
        indexes = [
            # What waits in forwarders, of a merchant and in all.
            models.Index(
                fields=["merchant", "purpose", "chain", "token"],
                condition=models.Q(received__gt=models.F("flushed")),
                name="deposit_balance_waiting",
            ),
            models.Index(
                fields=["chain", "token", "id"],
                condition=models.Q(received__gt=models.F("flushed")),
                name="deposit_balance_to_sweep",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.deposit_id}: {self.received} - {self.flushed} {self.token}"


class DepositTotal(models.Model):
    """What all deposit addresses of a merchant and purpose took in of a token on a chain, and what left them.

    The sum of their `DepositBalance` rows, kept by the same triggers. One watcher at a time writes a chain, so that nobody
    waits for its row.
    """

    merchant = models.ForeignKey(
        Merchant, models.PROTECT, related_name="+", db_index=False
    )
    purpose = models.CharField(max_length=8, choices=ClaimKind)
    chain = models.CharField(max_length=16)
    token = models.CharField(max_length=12)
    received = models.DecimalField(max_digits=96, decimal_places=0, default=0)
    flushed = models.DecimalField(max_digits=96, decimal_places=0, default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["merchant", "purpose", "chain", "token"],
                name="deposit_total_once",
            )
        ]

    def __str__(self) -> str:
        return f"{self.merchant_id}/{self.purpose}/{self.chain}/{self.token}"
