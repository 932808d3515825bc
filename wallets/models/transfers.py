"""Token movements to our addresses: facts, what they were used for, and what sources disagree about."""

from django.db import models
from django.db.models import Q

from accounts.models import Merchant
from accounts.states import Mode
from gateway.core.money import TOKEN_DIGITS
from wallets.models.deposits import DepositAddress
from wallets.models.facts import ChainFact, fresh_id
from wallets.models.receiving import ReceivingWallet
from wallets.states import ClaimKind, DifferenceKind, TransferState


class TransferQuerySet(models.QuerySet["Transfer"]):
    """Names for the sets of transfers the product talks about."""

    def queued(self, purpose: ClaimKind = ClaimKind.CHECKOUT) -> "TransferQuerySet":
        """Transfers to addresses of one purpose whose facts changed since a consumer last looked, oldest first."""
        found = self.filter(purpose=purpose, queued_at__isnull=False)
        return found.order_by("queued_at", "pk")


class Transfer(ChainFact):
    """A token movement to one of our addresses. What was decided about it is written here, too."""

    public_id = models.CharField(
        max_length=40, editable=False, db_default=fresh_id("trf_")
    )
    token_address = models.CharField(max_length=80)
    sender = models.CharField(max_length=80)
    recipient = models.CharField(max_length=80)
    deposit = models.ForeignKey(
        DepositAddress, models.PROTECT, null=True, related_name="transfers"
    )
    # Where the amount tells payments apart, the merchant's own wallet that it arrived in.
    wallet = models.ForeignKey(
        ReceivingWallet, models.PROTECT, null=True, related_name="transfers"
    )
    # What the payer's wallet wrote beside it, at most 64 texts: Solana Pay reference keys, a TON comment. Anybody may
    # write anything there.
    labels = models.JSONField(default=list)
    # That of the address it came to: whose queue it is in.
    purpose = models.CharField(
        max_length=8,
        choices=ClaimKind,
        default=ClaimKind.CHECKOUT,
        db_default=ClaimKind.CHECKOUT,
    )
    merchant = models.ForeignKey(
        Merchant, models.PROTECT, related_name="+", db_index=False
    )
    mode = models.CharField(max_length=4, choices=Mode)
    # When a second provider told of it too, which large amounts wait for.
    witnessed_at = models.DateTimeField(null=True)
    # Attribution happens once; what no rule could credit then waits for a person.
    decided_at = models.DateTimeField(null=True)
    # The work queue: set with every change of the facts, cleared by the consumer that dealt with it.
    queued_at = models.DateTimeField(null=True)

    objects = TransferQuerySet.as_manager()

    class Meta:
        constraints = [
            # What makes "credited at most once" true whatever crashes, repeats or races. Mined again after a
            # reorganisation, a transaction may pay another address or token: that is another transfer.
            models.UniqueConstraint(
                fields=["chain", "tx_hash", "position", "recipient", "token"],
                name="transfer_recorded_once",
            ),
            models.UniqueConstraint(fields=["public_id"], name="transfer_public_id"),
            models.CheckConstraint(
                condition=Q(units__gt=0), name="transfer_units_positive"
            ),
            models.CheckConstraint(
                condition=Q(deposit=None, wallet__isnull=False)
                | Q(deposit__isnull=False, wallet=None),
                name="transfer_has_one_place",
            ),
            models.CheckConstraint(
                condition=Q(state__in=TransferState.values), name="transfer_state_known"
            ),
            models.CheckConstraint(
                condition=~Q(state=TransferState.CONFIRMED)
                | Q(confirmed_at__isnull=False),
                name="transfer_confirmed_has_time",
            ),
        ]
        indexes = [
            models.Index(
                fields=["purpose", "queued_at", "id"],
                condition=Q(queued_at__isnull=False),
                name="transfer_queue",
            ),
            # Confirming and orphaning go by height over what is not final yet.
            models.Index(
                fields=["chain", "block_height"],
                condition=Q(state=TransferState.DETECTED),
                name="transfer_unconfirmed",
            ),
            models.Index(fields=["chain", "block_height"], name="transfer_by_block"),
            # Reports and the page of payments.
            models.Index(
                fields=["merchant", "mode", "-block_time", "-id"],
                name="transfer_report",
            ),
            # What a buyer's address paid, for the search box.
            models.Index(
                fields=["merchant", "mode", "sender", "-id"], name="transfer_by_sender"
            ),
        ]


class TransferClaim(models.Model):
    """Says what a transfer was used for. Its key is the transfer's, so there can be only one."""

    transfer = models.OneToOneField(
        Transfer, models.PROTECT, primary_key=True, related_name="claim"
    )
    kind = models.CharField(max_length=8, choices=ClaimKind)
    claimed_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.transfer_id}: {self.kind}"


class TransferDay(models.Model):
    """Part of what a merchant's transfers add up to in a day (UTC, by block time): the rows of a day are to be added up.

    Triggers add a row to it for what a statement changed, in its transaction, and never touch one that is there: nobody
    waits for anybody, in whatever order they write. A task puts rows together (`is_sum`). `claim` is what the transfers
    were used for (`ClaimKind`), empty for nothing.
    """

    merchant = models.ForeignKey(
        Merchant, models.CASCADE, related_name="+", db_index=False
    )
    mode = models.CharField(max_length=4, choices=Mode)
    day = models.DateField()
    chain = models.CharField(max_length=16)
    token = models.CharField(max_length=12)
    state = models.CharField(max_length=9, choices=TransferState)
    claim = models.CharField(max_length=8, blank=True)
    # Negative where transfers went to another row.
    count = models.BigIntegerField(default=0)
    # Wider than one uint256: any number of the largest transfers fits.
    units = models.DecimalField(max_digits=96, decimal_places=0, default=0)
    is_sum = models.BooleanField(default=False, db_default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["merchant", "mode", "day", "chain", "token", "state", "claim"],
                condition=Q(is_sum=True),
                name="transfer_day_once",
            )
        ]
        indexes = [
            # Reports.
            models.Index(
                fields=["merchant", "mode", "day"], name="transfer_day_report"
            ),
            # Putting rows together.
            models.Index(
                fields=["id"], condition=Q(is_sum=False), name="transfer_day_change"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.merchant_id}/{self.mode}/{self.day}/{self.chain} {self.state}"


class SourceDifference(models.Model):
    """Two sources of one chain told different things: an alert for the operator, kept until somebody closes it."""

    chain = models.CharField(max_length=16)
    kind = models.CharField(max_length=8, choices=DifferenceKind)
    tx_hash = models.CharField(max_length=100)
    position = models.PositiveIntegerField()
    recipient = models.CharField(max_length=80)
    token = models.CharField(max_length=12)
    units = models.DecimalField(max_digits=TOKEN_DIGITS, decimal_places=0)
    block_height = models.BigIntegerField()
    # The node that told of it (`missed`) or did not (`unknown`): scheme, host and port, never a key.
    source = models.CharField(max_length=120)
    found_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["chain", "tx_hash", "position", "recipient", "token", "kind"],
                name="source_difference_told_once",
            )
        ]

    def __str__(self) -> str:
        return f"{self.chain}: {self.kind} {self.tx_hash}/{self.position}"
