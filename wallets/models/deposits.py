"""Deposit addresses and their outflows."""

from django.db import models
from django.utils import timezone

from accounts.models import Merchant
from accounts.states import Mode
from wallets.models.facts import ChainFact
from wallets.states import ClaimKind, TransferState


class DepositAddress(models.Model):
    """A CREATE2 forwarder address: money sent there can only reach `destination`.

    `key` is the address as 20 raw bytes, by which logs are joined; `wallets.forwarders.addresses.checksum` formats it.
    """

    key = models.BinaryField(max_length=20, unique=True)
    destination = models.BinaryField(max_length=20)
    # 32 random bytes; with the destination they form the salt.
    nonce = models.BinaryField(max_length=32)
    # Found by key, nonce or id; an index by merchant would cost every creation and serve no query.
    merchant = models.ForeignKey(Merchant, models.PROTECT, related_name="+", db_index=False)
    mode = models.CharField(max_length=4, choices=Mode)
    # Its purpose: a checkout, or a merchant's machines.
    purpose = models.CharField(
        max_length=8, choices=ClaimKind, default=ClaimKind.CHECKOUT, db_default=ClaimKind.CHECKOUT
    )
    created_at = models.DateTimeField(default=timezone.now)
    # Thirty days after its checkout expires. It sets the chain's reading pace (`wallets.watchers.demand`); the address
    # itself is watched for ever.
    watched_until = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["nonce", "destination"], name="deposit_address_once_per_salt")]
        indexes = [
            # The list of watched addresses is by mode alone; the reading pace, by both.
            models.Index(fields=["mode", "watched_until"], name="deposit_address_watched")
        ]

    def __str__(self) -> str:
        return f"0x{bytes(self.key).hex()}"


class DepositOutflow(ChainFact):
    """A token movement out of a deposit address, which can only go to its destination. Anyone may send the transaction."""

    deposit = models.ForeignKey(DepositAddress, models.PROTECT, related_name="outflows")
    recipient = models.CharField(max_length=80)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["chain", "tx_hash", "position", "deposit", "token"], name="deposit_outflow_once"
            ),
            models.CheckConstraint(condition=models.Q(units__gt=0), name="deposit_outflow_units_positive"),
            models.CheckConstraint(
                condition=models.Q(state__in=TransferState.values), name="deposit_outflow_state_known"
            ),
        ]
        indexes = [
            models.Index(
                fields=["chain", "block_height"],
                condition=models.Q(state=TransferState.DETECTED),
                name="deposit_outflow_unconfirmed",
            ),
            models.Index(fields=["chain", "block_height"], name="deposit_outflow_by_block"),
        ]


class DepositBalance(models.Model):
    """A deposit address's balance of a token on a chain: received and flushed, final movements of real money only.

    Triggers update it in the writer's transaction of transfers and outflows. Unwatched dust may have been flushed too, so
    `flushed` may exceed `received`.
    """

    deposit = models.ForeignKey(DepositAddress, models.PROTECT, related_name="balances", db_index=False)
    merchant = models.ForeignKey(Merchant, models.PROTECT, related_name="+", db_index=False)
    purpose = models.CharField(max_length=8, choices=ClaimKind)
    chain = models.CharField(max_length=16)
    token = models.CharField(max_length=12)
    # Base units; wider than one uint256, so any number of the largest transfers fits.
    received = models.DecimalField(max_digits=96, decimal_places=0, default=0)
    flushed = models.DecimalField(max_digits=96, decimal_places=0, default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["deposit", "chain", "token"], name="deposit_balance_once")]
        indexes = [
            # Money waiting in forwarders, by merchant and in all.
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
    """The totals of a merchant's deposit addresses of one purpose, by token and chain.

    The sum of their `DepositBalance` rows, updated by the same triggers. One watcher at a time writes a chain, so there is
    no lock contention.
    """

    merchant = models.ForeignKey(Merchant, models.PROTECT, related_name="+", db_index=False)
    purpose = models.CharField(max_length=8, choices=ClaimKind)
    chain = models.CharField(max_length=16)
    token = models.CharField(max_length=12)
    received = models.DecimalField(max_digits=96, decimal_places=0, default=0)
    flushed = models.DecimalField(max_digits=96, decimal_places=0, default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["merchant", "purpose", "chain", "token"], name="deposit_total_once")
        ]

    def __str__(self) -> str:
        return f"{self.merchant_id}/{self.purpose}/{self.chain}/{self.token}"
