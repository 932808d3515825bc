"""Facts read from chains, and the addresses they are read for.

Nothing here knows what a checkout is: a deposit address carries the nonce it was derived from, and whoever made
that nonce finds its transfers by it.
"""

from datetime import UTC, datetime

from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.models import Merchant, User
from accounts.states import Mode
from gateway.core.money import TOKEN_DIGITS
from wallets.states import ClaimKind, DifferenceKind, TransferState

# Spelled out, because a constraint and its migration hang on them; a test compares them with the registry.
EXACT_AMOUNT_CHAINS = ("ethereum", "solana", "ton", "tron")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OPEN_CHANGE = Q(applied_at=None, cancelled_at=None, failed_at=None)


class ReceivingWallet(models.Model):
    """The merchant's own wallet on a chain, where its money ends up. The address is in the chain's canonical form."""

    merchant = models.ForeignKey(
        Merchant, models.CASCADE, related_name="receiving_wallets"
    )
    chain = models.CharField(max_length=16)
    address = models.CharField(max_length=80)
    # The address as raw bytes, the form in which a chain's recipients are joined (`wallets.addresses.address_key`).
    key = models.BinaryField(max_length=40)
    created_at = models.DateTimeField(default=timezone.now)
    # Somebody may be paying until then: its chain is read at full pace, and where accounts are read, this one first.
    expected_until = models.DateTimeField(null=True)
    # A replaced wallet keeps its row: addresses derived for it still pay it.
    retired_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["merchant", "chain"],
                condition=Q(retired_at=None),
                name="one_receiving_wallet_per_chain",
            ),
            # Where the amount alone says whose payment it is, two merchants must not share an address.
            models.UniqueConstraint(
                fields=["chain", "address"],
                condition=Q(retired_at=None, chain__in=EXACT_AMOUNT_CHAINS),
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
    """Another receiving wallet that somebody asked for. It waits, so that the owners can stop what none of them wanted.

    It ends once: applied, cancelled, or refused when its time came, which `failure` says in words.
    """

    OPEN = _OPEN_CHANGE

    merchant = models.ForeignKey(
        Merchant, models.CASCADE, related_name="wallet_changes"
    )
    chain = models.CharField(max_length=16)
    # In canonical form.
    address = models.CharField(max_length=80)
    requested_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    requested_at = models.DateTimeField()
    effective_at = models.DateTimeField()
    applied_at = models.DateTimeField(null=True)
    cancelled_at = models.DateTimeField(null=True)
    failed_at = models.DateTimeField(null=True)
    failure = models.CharField(max_length=200, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["merchant", "chain"],
                condition=_OPEN_CHANGE,
                name="wallet_change_open_once",
            ),
            models.CheckConstraint(
                condition=Q(applied_at=None, cancelled_at=None)
                | Q(applied_at=None, failed_at=None)
                | Q(cancelled_at=None, failed_at=None),
                name="wallet_change_ends_once",
            ),
        ]
        indexes = [
            models.Index(
                fields=["effective_at"],
                condition=_OPEN_CHANGE,
                name="wallet_change_due",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.chain}:{self.address}"

    @property
    def is_open(self) -> bool:
        """Whether it still waits."""
        return not (self.applied_at or self.cancelled_at or self.failed_at)


class DepositAddress(models.Model):
    """A CREATE2 forwarder address: what is sent there can only reach `destination`.

    `key` is the address as 20 raw bytes, the form in which logs are joined; `wallets.forwarder.checksum` writes it.
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
    created_at = models.DateTimeField(default=timezone.now)
    # Thirty days after its checkout expires. It sets the pace at which chains are read (`wallets.expectation`); the
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


class ChainCursor(models.Model):
    """How far a chain was read, and who is reading it. The fence makes a watcher that lost its lease harmless."""

    chain = models.CharField(max_length=16, primary_key=True)
    # The chain's first block, so that a new local chain is told from the old one.
    genesis_hash = models.CharField(max_length=80, blank=True)
    height = models.BigIntegerField(null=True)
    block_hash = models.CharField(max_length=80, blank=True)
    # Where its reading began: what lies before was never ours to see.
    first_height = models.BigIntegerField(null=True)
    # Blocks asked for at once; halves on a provider's range error, grows on success.
    window = models.PositiveIntegerField(default=10)
    owner = models.CharField(max_length=80, blank=True)
    fence = models.BigIntegerField(default=0)
    lease_until = models.DateTimeField(default=EPOCH)
    # What the node said last, for confirmation counts and health.
    head = models.BigIntegerField(null=True)
    head_at = models.DateTimeField(null=True)
    # The newest block's own time: a node that stands still answers as quickly as one that does not.
    head_time = models.DateTimeField(null=True)
    # When the next pass is meant to begin: a chain nobody is paying on is read once a minute, and that is no silence.
    due_at = models.DateTimeField(null=True)
    # When the last pass began that read the chain up to a head its sources agree on; expiry waits for it. Where accounts
    # are read one by one, those that somebody was expected to pay to.
    read_through_at = models.DateTimeField(null=True)
    # When the last pass ended that compared what was read with what two sources or more tell of it.
    reconciled_at = models.DateTimeField(null=True)
    # Since when two of its nodes have told different hashes of a final block; null while they agree.
    disagreeing_since = models.DateTimeField(null=True)
    # Where accounts are read one by one: every account that was expected then has been read since.
    accounts_read_at = models.DateTimeField(null=True)
    # What was asked of its nodes: in all, and in the minute before the last pass.
    requests = models.BigIntegerField(default=0)
    requests_minute = models.PositiveIntegerField(default=0)
    # Windows of blocks, or accounts, that were read.
    reads = models.BigIntegerField(default=0)
    # Whether the forwarder factory is on the chain; unknown until a watcher looked.
    factory_ok = models.BooleanField(null=True)
    # Set when the chain must not go on without a person (a reorganisation deeper than finality).
    halted_reason = models.CharField(max_length=200, blank=True)
    last_error = models.CharField(max_length=200, blank=True)
    failing_since = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.chain}@{self.height}"


class AccountCursor(models.Model):
    """How far one account was read, on a chain that can only be asked account by account (Solana, TON)."""

    chain = models.CharField(max_length=16)
    # As `ReceivingWallet.key` and `.address`: the owner, not its token account.
    key = models.BinaryField(max_length=40)
    address = models.CharField(max_length=80)
    # The block up to which everything is known, and that block's own time.
    height = models.BigIntegerField(null=True)
    height_time = models.DateTimeField(null=True)
    # When the last pass began that asked for it; accounts take turns by it.
    read_at = models.DateTimeField(null=True)
    # Why it could not be read when others could; it then waits for its turn among those nobody pays to.
    last_error = models.CharField(max_length=200, blank=True)
    # As `ChainCursor.read_through_at`, for this account alone; expiry waits for it.
    read_through_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["chain", "key"], name="one_cursor_per_account"
            )
        ]
        indexes = [
            models.Index(fields=["chain", "read_at"], name="account_turn"),
            # Checkouts name the accounts that pay them, and expiry asks how far these were read.
            models.Index(fields=["chain", "address"], name="account_by_address"),
        ]

    def __str__(self) -> str:
        return f"{self.chain}:{self.address}@{self.height}"


class Block(models.Model):
    """The hash of a block that was read, kept as long as a reorganisation may still replace it."""

    chain = models.CharField(max_length=16)
    height = models.BigIntegerField()
    hash = models.CharField(max_length=80)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["chain", "height"], name="one_block_per_height"
            )
        ]

    def __str__(self) -> str:
        return f"{self.chain}#{self.height}"


class TransferQuerySet(models.QuerySet["Transfer"]):
    """Names for the sets of transfers the product talks about."""

    def queued(self) -> "TransferQuerySet":
        """Transfers whose facts changed since a consumer last looked, oldest first."""
        return self.filter(queued_at__isnull=False).order_by("queued_at", "pk")


class Transfer(models.Model):
    """A token movement to one of our addresses: a fact, edited only in its confirmation state and `decided_at`.

    `position` is the transfer's ordinal among the Transfer logs of its own transaction, which stays the same when
    the transaction is mined again in another block.
    """

    chain = models.CharField(max_length=16)
    tx_hash = models.CharField(max_length=100)
    position = models.PositiveIntegerField()
    token = models.CharField(max_length=12)
    token_address = models.CharField(max_length=80)
    # Base units; six decimals for every accepted token.
    units = models.DecimalField(max_digits=TOKEN_DIGITS, decimal_places=0)
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
    merchant = models.ForeignKey(
        Merchant, models.PROTECT, related_name="+", db_index=False
    )
    mode = models.CharField(max_length=4, choices=Mode)
    block_height = models.BigIntegerField()
    block_hash = models.CharField(max_length=80)
    block_time = models.DateTimeField()
    state = models.CharField(
        max_length=9, choices=TransferState, default=TransferState.DETECTED
    )
    detected_at = models.DateTimeField()
    confirmed_at = models.DateTimeField(null=True)
    # When a second provider told of it too, which large amounts wait for.
    witnessed_at = models.DateTimeField(null=True)
    orphaned_at = models.DateTimeField(null=True)
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
                fields=["queued_at", "id"],
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
        ]

    def __str__(self) -> str:
        return f"{self.chain}:{self.tx_hash}/{self.position}"


class TransferClaim(models.Model):
    """Says what a transfer was used for. Its key is the transfer's, so there can be only one."""

    transfer = models.OneToOneField(
        Transfer, models.PROTECT, primary_key=True, related_name="claim"
    )
    kind = models.CharField(max_length=8, choices=ClaimKind)
    claimed_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.transfer_id}: {self.kind}"


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
