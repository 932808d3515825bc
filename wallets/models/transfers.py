"""Deposit addresses, transfers to our addresses with their use, and differences between sources."""

from django.contrib.postgres.functions import RandomUUID
from django.contrib.postgres.indexes import OpClass
from django.db import models
from django.db.models import F, Q, TextField, Value
from django.db.models.functions import Cast, Concat, Lower, Replace
from django.utils import timezone

from accounts.models import Merchant
from accounts.states import Mode
from gateway.core.money import TOKEN_DIGITS
from wallets.models.receiving import ReceivingWallet
from wallets.networks import decimals_of, six_decimals
from wallets.states import ClaimKind, DifferenceKind, TransferState, TransferUse


def fresh_id(prefix: str) -> Concat:
    """Return a public id made by the database: a prefix with its underscore, then 122 random bits.

    Watchers insert many rows with one SQL statement.
    """
    text = TextField()
    dash, nothing = Value("-", text), Value("", text)
    digits = Replace(Cast(RandomUUID(), text), dash, nothing, output_field=text)
    return Concat(Value(prefix, text), digits, output_field=text)


def _beginning(column: str) -> OpClass:
    return OpClass(Lower(column), name="text_pattern_ops")


class ChainFact(models.Model):
    """A token movement as its chain reports it; only its confirmation state changes.

    `position` is its ordinal among its transaction's own transfers (decision 4), which stays the same when the transaction is
    mined again in another block.
    """

    chain = models.CharField(max_length=16)
    tx_hash = models.CharField(max_length=100)
    position = models.PositiveIntegerField()
    token = models.CharField(max_length=12)
    # Base units; six decimals for every accepted token, the token's own for others.
    units = models.DecimalField(max_digits=TOKEN_DIGITS, decimal_places=0)
    block_height = models.BigIntegerField()
    block_hash = models.CharField(max_length=80)
    block_time = models.DateTimeField()
    state = models.CharField(max_length=9, choices=TransferState, default=TransferState.DETECTED)
    detected_at = models.DateTimeField()
    confirmed_at = models.DateTimeField(null=True)
    orphaned_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.chain}:{self.tx_hash}/{self.position}"

    @property
    def decimals(self) -> int:
        """Return its token's decimals."""
        return decimals_of(self.chain, self.token)

    @property
    def priced_units(self) -> int:
        """Return its units cut to six decimals, to compare them with a price."""
        return six_decimals(self.chain, self.token, int(self.units))


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


class TransferQuerySet(models.QuerySet["Transfer"]):
    """Named sets of transfers."""

    def queued(self, purpose: ClaimKind = ClaimKind.CHECKOUT) -> "TransferQuerySet":
        """Return transfers of one purpose whose facts changed since a consumer last processed them, oldest first."""
        found = self.filter(purpose=purpose, queued_at__isnull=False)
        return found.order_by("queued_at", "pk")


class Transfer(ChainFact):
    """A transfer to one of our addresses, with the decision about it."""

    public_id = models.CharField(max_length=40, editable=False, db_default=fresh_id("trf_"))
    token_address = models.CharField(max_length=80)
    sender = models.CharField(max_length=80)
    recipient = models.CharField(max_length=80)
    deposit = models.ForeignKey(DepositAddress, models.PROTECT, null=True, related_name="transfers")
    # On exact-amount chains, the merchant's wallet that received it.
    wallet = models.ForeignKey(ReceivingWallet, models.PROTECT, null=True, related_name="transfers")
    # The payer's labels, at most 64: Solana Pay reference keys, a TON comment. They may contain anything.
    labels = models.JSONField(default=list)
    # Known by the balance alone: it may be several payments.
    is_sum = models.BooleanField(default=False, db_default=False)
    # The purpose of its address, which selects the queue.
    purpose = models.CharField(
        max_length=8, choices=ClaimKind, default=ClaimKind.CHECKOUT, db_default=ClaimKind.CHECKOUT
    )
    merchant = models.ForeignKey(Merchant, models.PROTECT, related_name="+", db_index=False)
    mode = models.CharField(max_length=4, choices=Mode)
    # When a second provider confirmed it, which large amounts need.
    witnessed_at = models.DateTimeField(null=True)
    # Attribution happens once; a transfer that no rule could credit then waits for a person.
    decided_at = models.DateTimeField(null=True)
    # The work queue: set with every change of the facts, cleared by the consumer that processed it.
    queued_at = models.DateTimeField(null=True)

    objects = TransferQuerySet.as_manager()

    class Meta:
        constraints = [
            # Ensures "credited at most once" despite crashes, repeats and races. After a reorg, a transaction may pay
            # another address or token: that is another transfer.
            models.UniqueConstraint(
                fields=["chain", "tx_hash", "position", "recipient", "token"], name="transfer_recorded_once"
            ),
            models.UniqueConstraint(fields=["public_id"], name="transfer_public_id"),
            models.CheckConstraint(condition=Q(units__gt=0), name="transfer_units_positive"),
            models.CheckConstraint(
                condition=Q(deposit=None, wallet__isnull=False) | Q(deposit__isnull=False, wallet=None),
                name="transfer_has_one_place",
            ),
            models.CheckConstraint(condition=Q(state__in=TransferState.values), name="transfer_state_known"),
            models.CheckConstraint(
                condition=~Q(state=TransferState.CONFIRMED) | Q(confirmed_at__isnull=False),
                name="transfer_confirmed_has_time",
            ),
        ]
        indexes = [
            models.Index(
                fields=["purpose", "queued_at", "id"], condition=Q(queued_at__isnull=False), name="transfer_queue"
            ),
            # Confirming and orphaning go by height, over transfers that are not final.
            models.Index(
                fields=["chain", "block_height"], condition=Q(state=TransferState.DETECTED), name="transfer_unconfirmed"
            ),
            models.Index(fields=["chain", "block_height"], name="transfer_by_block"),
            # What reorgs removed lately, of which refunds may have sent money back.
            models.Index(fields=["orphaned_at"], condition=Q(state=TransferState.ORPHANED), name="transfer_orphaned"),
            # Reports and the page of payments.
            models.Index(fields=["merchant", "mode", "-block_time", "-id"], name="transfer_report"),
            # Search by a buyer's address.
            models.Index(fields=["merchant", "mode", "sender", "-id"], name="transfer_by_sender"),
            # And by the beginning of a hash or an address, whatever capitals it has.
            models.Index("merchant", "mode", _beginning("tx_hash"), name="transfer_hash_begins"),
            models.Index("merchant", "mode", _beginning("sender"), name="transfer_sender_begins"),
        ]

    @property
    def is_vouched(self) -> bool:
        """Whether its consumer asked for a second node's word, and has it about this block. Its `witness_request` is loaded, if any."""
        asked: WitnessRequest | None = getattr(self, "witness_request", None)
        return asked is not None and asked.block_hash == self.block_hash and asked.answered_at is not None


class TransferClaim(models.Model):
    """The use of a transfer. Its key is the transfer's, so there can be only one."""

    transfer = models.OneToOneField(Transfer, models.PROTECT, primary_key=True, related_name="claim")
    kind = models.CharField(max_length=8, choices=TransferUse)
    claimed_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.transfer_id}: {self.kind}"


class TransferReturn(models.Model):
    """How much of a transfer is promised back to its sender, and how much was sent back; without a row, nothing.

    Refunds insert and change it (`wallets.transfers.returns`). The constraint refuses what would promise more than came,
    whoever asks at once.
    """

    transfer = models.OneToOneField(Transfer, models.PROTECT, primary_key=True, related_name="sent_back")
    # The transfer's own, which a constraint cannot read.
    units = models.DecimalField(max_digits=TOKEN_DIGITS, decimal_places=0)
    # Of refunds that are asked for or paid.
    reserved = models.DecimalField(max_digits=TOKEN_DIGITS, decimal_places=0)
    # Of those that are paid, and whose outflow no reorg removed.
    returned = models.DecimalField(max_digits=TOKEN_DIGITS, decimal_places=0, default=0)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(returned__gte=0, reserved__gte=F("returned"), units__gte=F("reserved")),
                name="transfer_return_within_units",
            )
        ]

    def __str__(self) -> str:
        return f"{self.transfer_id}: {self.reserved} of {self.units}"


class WitnessRequest(models.Model):
    """A transfer that its consumer counts as final only once the chain and a second node vouched for it in this block.

    Large transfers need that by themselves; this is for parts of a large sum, final by depth or not yet.
    """

    transfer = models.OneToOneField(Transfer, models.CASCADE, primary_key=True, related_name="witness_request")
    block_hash = models.CharField(max_length=80)
    asked_at = models.DateTimeField()
    answered_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["asked_at"], condition=Q(answered_at=None), name="witness_request_open")]

    def __str__(self) -> str:
        return f"{self.transfer_id}: asked at {self.asked_at}"


class TransferDay(models.Model):
    """A delta of a merchant's transfers in a day (UTC, by block time); the rows of a day add up.

    Triggers insert the difference of each statement, in its transaction, and never update a row, so writers never wait,
    in any order. A task folds rows (`is_sum`). `claim` is the transfers' use (`ClaimKind`), empty for none.
    """

    merchant = models.ForeignKey(Merchant, models.CASCADE, related_name="+", db_index=False)
    mode = models.CharField(max_length=4, choices=Mode)
    day = models.DateField()
    chain = models.CharField(max_length=16)
    token = models.CharField(max_length=12)
    state = models.CharField(max_length=9, choices=TransferState)
    claim = models.CharField(max_length=8, blank=True)
    # Negative when transfers moved to another row.
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
            models.Index(fields=["merchant", "mode", "day"], name="transfer_day_report"),
            # Folding.
            models.Index(fields=["id"], condition=Q(is_sum=False), name="transfer_day_change"),
        ]

    def __str__(self) -> str:
        return f"{self.merchant_id}/{self.mode}/{self.day}/{self.chain} {self.state}"


class SourceDifference(models.Model):
    """Different reports of two sources of one chain: an alert for the operator, open until closed."""

    chain = models.CharField(max_length=16)
    kind = models.CharField(max_length=8, choices=DifferenceKind)
    tx_hash = models.CharField(max_length=100)
    position = models.PositiveIntegerField()
    recipient = models.CharField(max_length=80)
    token = models.CharField(max_length=12)
    units = models.DecimalField(max_digits=TOKEN_DIGITS, decimal_places=0)
    block_height = models.BigIntegerField()
    # The node that reported it (`missed`) or did not (`unknown`): scheme, host and port, never a key.
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
