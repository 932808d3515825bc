"""Watched wallets: movements, daily totals and balances."""

from functools import partial

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.models import Merchant
from accounts.states import Mode
from gateway.core.ids import new_id
from gateway.core.money import TOKEN_DIGITS
from wallets.models.transfers import ChainFact, fresh_id
from wallets.states import Direction, TransferState, WatchPurpose, WatchStatus

MOST_TAGS = 20
TAG_LENGTH = 40


class WatchedWallet(models.Model):
    """Any address on a chain whose movements a merchant wants to see. It never causes a credit.

    The address is in the chain's canonical form, `key` as `ReceivingWallet.key`. One that is no longer watched keeps its
    row, and its movements stay in the reports of the days they were made.
    """

    public_id = models.CharField(max_length=40, unique=True, default=partial(new_id, "wal"))
    merchant = models.ForeignKey(Merchant, models.CASCADE, related_name="watched_wallets")
    mode = models.CharField(max_length=4, choices=Mode)
    chain = models.CharField(max_length=16)
    address = models.CharField(max_length=80)
    key = models.BinaryField(max_length=40)
    label = models.CharField(max_length=80, blank=True)
    tags = ArrayField(models.CharField(max_length=TAG_LENGTH), default=list, blank=True)
    purpose = models.CharField(
        max_length=6, choices=WatchPurpose, default=WatchPurpose.LIST, db_default=WatchPurpose.LIST
    )
    # Until when a payout may leave or reach it: it is read at full pace until then. Once set, it is never null again, and
    # changes of its movements are queued: money may be sent a second time long after.
    expected_until = models.DateTimeField(null=True)
    status = models.CharField(max_length=9, choices=WatchStatus, default=WatchStatus.IMPORTING)
    # History is read backwards or forwards between these two blocks; the chain's watcher reads what follows. Null until a
    # watcher knows them. `history_height` is the last block of it that was read.
    history_from = models.BigIntegerField(null=True)
    history_height = models.BigIntegerField(null=True)
    history_until = models.BigIntegerField(null=True)
    history_error = models.CharField(max_length=200, blank=True)
    # When its history was last read, so that wallets take turns.
    history_read_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(default=timezone.now)
    removed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["merchant", "mode", "chain", "key"], condition=Q(removed_at=None), name="watched_wallet_once"
            ),
            models.CheckConstraint(condition=Q(status__in=WatchStatus.values), name="watched_wallet_status_known"),
            models.CheckConstraint(condition=Q(purpose__in=WatchPurpose.values), name="watched_wallet_purpose_known"),
        ]
        indexes = [
            # Watchers look up the owner of a recipient or sender.
            models.Index(
                fields=["chain", "key"], condition=Q(removed_at=None, mode=Mode.LIVE), name="watched_wallet_by_key"
            ),
            models.Index(
                fields=["chain", "history_read_at"],
                condition=Q(removed_at=None, mode=Mode.LIVE, status=WatchStatus.IMPORTING),
                name="watched_wallet_importing",
            ),
            # The reading pace.
            models.Index(
                fields=["chain", "expected_until"],
                condition=Q(expected_until__isnull=False),
                name="watched_wallet_expected",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.chain}:{self.address}"


class WatchedMovement(ChainFact):
    """A token movement into or out of a watched wallet.

    A movement between two watched wallets is two rows. Keyed as `Transfer` is, per wallet and direction.
    """

    public_id = models.CharField(max_length=40, editable=False, db_default=fresh_id("mov_"))
    wallet = models.ForeignKey(WatchedWallet, models.CASCADE, related_name="movements", db_index=False)
    merchant = models.ForeignKey(Merchant, models.CASCADE, related_name="+", db_index=False)
    mode = models.CharField(max_length=4, choices=Mode)
    direction = models.CharField(max_length=3, choices=Direction)
    token_address = models.CharField(max_length=80)
    # The other side's address.
    counterparty = models.CharField(max_length=80)
    # Whether reports contain the same money already: a payment to a receiving wallet that is watched too, or a deposit
    # address's payout to it.
    is_payment = models.BooleanField(default=False)
    # The work queue of `MOVEMENT_CONSUMERS`: set with every change of a movement of a wallet with `expected_until`.
    queued_at = models.DateTimeField(null=True)
    # What the payer's wallet attached (`Transfer.labels`), where the movement is queued at its first sight; null elsewhere.
    labels = models.JSONField(null=True)
    # As `WitnessRequest` for transfers: its consumer counts it as final only once the chain and, where there are two nodes, a
    # second one vouched for it in its block.
    witness_asked_at = models.DateTimeField(null=True)
    witness_answered_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["wallet", "tx_hash", "position", "token", "direction"], name="watched_movement_once"
            ),
            models.UniqueConstraint(fields=["public_id"], name="watched_movement_public_id"),
            models.CheckConstraint(condition=Q(units__gt=0), name="watched_movement_units_positive"),
            models.CheckConstraint(condition=Q(state__in=TransferState.values), name="watched_movement_state_known"),
        ]
        indexes = [
            models.Index(fields=["wallet", "-block_time", "-id"], name="watched_movement_list"),
            models.Index(fields=["merchant", "mode", "-block_time", "-id"], name="watched_movement_report"),
            models.Index(
                fields=["chain", "block_height"],
                condition=Q(state=TransferState.DETECTED),
                name="watched_movement_unconfirmed",
            ),
            models.Index(fields=["chain", "block_height"], name="watched_movement_by_block"),
            models.Index(
                fields=["queued_at", "id"], condition=Q(queued_at__isnull=False), name="watched_movement_queue"
            ),
            models.Index(
                fields=["chain", "id"],
                condition=Q(witness_asked_at__isnull=False, witness_answered_at=None),
                name="watched_movement_asked",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.direction} {self.chain}:{self.tx_hash}/{self.position}"


class WatchedDay(models.Model):
    """A delta of a watched wallet's movements in a day (UTC, by block time), kept like `TransferDay`."""

    wallet = models.ForeignKey(WatchedWallet, models.CASCADE, related_name="days", db_index=False)
    day = models.DateField()
    token = models.CharField(max_length=12)
    direction = models.CharField(max_length=3, choices=Direction)
    state = models.CharField(max_length=9, choices=TransferState)
    is_payment = models.BooleanField()
    # Negative when movements moved to another row.
    count = models.BigIntegerField(default=0)
    # Wider than one uint256: any number of the largest movements fits.
    units = models.DecimalField(max_digits=96, decimal_places=0, default=0)
    is_sum = models.BooleanField(default=False, db_default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["wallet", "day", "token", "direction", "state", "is_payment"],
                condition=Q(is_sum=True),
                name="watched_day_once",
            )
        ]
        indexes = [
            # Reports.
            models.Index(fields=["wallet", "day"], name="watched_day_report"),
            # Folding.
            models.Index(fields=["id"], condition=Q(is_sum=False), name="watched_day_change"),
        ]

    def __str__(self) -> str:
        return f"{self.wallet_id}/{self.day}/{self.token} {self.direction}"


class WatchedBalance(models.Model):
    """A watched wallet's balance of a token at the last reading, at a block."""

    wallet = models.ForeignKey(WatchedWallet, models.CASCADE, related_name="balances", db_index=False)
    token = models.CharField(max_length=12)
    units = models.DecimalField(max_digits=TOKEN_DIGITS, decimal_places=0)
    height = models.BigIntegerField()
    read_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["wallet", "token"], name="watched_balance_once")]

    def __str__(self) -> str:
        return f"{self.wallet_id}: {self.units} {self.token}"
