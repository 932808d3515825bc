"""How far chains and accounts were read."""

from django.db import models

from gateway.core.leases import EPOCH, Leased

__all__ = ["EPOCH", "AccountCursor", "Block", "ChainCursor"]


class ChainCursor(Leased):
    """How far a chain was read, and the watcher that holds the lease."""

    chain = models.CharField(max_length=16, primary_key=True)
    # The hash of the chain's first block; a different one shows that a local chain was reset.
    genesis_hash = models.CharField(max_length=80, blank=True)
    height = models.BigIntegerField(null=True)
    block_hash = models.CharField(max_length=80, blank=True)
    # The start of reading: earlier blocks are never read.
    first_height = models.BigIntegerField(null=True)
    # Blocks per request; halves on a provider's range error, grows on success.
    window = models.PositiveIntegerField(default=10)
    # The node's last answer, for confirmation counts and health.
    head = models.BigIntegerField(null=True)
    head_at = models.DateTimeField(null=True)
    # The newest block's own time: a stalled node answers as quickly as a working one.
    head_time = models.DateTimeField(null=True)
    # What one gas cost in the newest blocks, in wei: a mean in which each pass counts an eighth. Null where blocks name no price.
    base_fee = models.BigIntegerField(null=True)
    # When the next pass is due: a quiet chain is read only once a minute, which must not count as an outage.
    due_at = models.DateTimeField(null=True)
    # The start of the last pass that read the chain up to an agreed head; expiry waits for it. For chains read by account:
    # of the accounts with expected payments.
    read_through_at = models.DateTimeField(null=True)
    # The end of the last pass that compared the records with two or more sources.
    reconciled_at = models.DateTimeField(null=True)
    # When two of its nodes began to report different hashes of a final block; null while they agree.
    disagreeing_since = models.DateTimeField(null=True)
    # For chains read by account: every account with payments expected at this time has been read since.
    accounts_read_at = models.DateTimeField(null=True)
    # Requests sent to its nodes: in all, and in the minute before the last pass.
    requests = models.BigIntegerField(default=0)
    requests_minute = models.PositiveIntegerField(default=0)
    # Windows of blocks, or accounts, that were read.
    reads = models.BigIntegerField(default=0)
    # Whether the forwarder factory is on the chain; null until a watcher checks.
    factory_ok = models.BooleanField(null=True)
    # Set when only a person may resume the chain (a reorg deeper than finality).
    halted_reason = models.CharField(max_length=200, blank=True)
    # When it was stopped, and the last block that is surely in the chain. Without one, what was seen in the hour before is doubted.
    halted_at = models.DateTimeField(null=True)
    doubted_above = models.BigIntegerField(null=True)
    last_error = models.CharField(max_length=200, blank=True)
    failing_since = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.chain}@{self.height}"


class AccountCursor(models.Model):
    """How far one account was read, on a chain that is read by account (Solana, TON)."""

    chain = models.CharField(max_length=16)
    # As `ReceivingWallet.key` and `.address`: the owner, not its token account.
    key = models.BinaryField(max_length=40)
    address = models.CharField(max_length=80)
    # The block up to which everything is known, and that block's own time.
    height = models.BigIntegerField(null=True)
    height_time = models.DateTimeField(null=True)
    # The start of the last pass that read it; accounts take turns by this.
    read_at = models.DateTimeField(null=True)
    # Why it could not be read when others could; it then takes turns with accounts without expected payments.
    last_error = models.CharField(max_length=200, blank=True)
    # As `ChainCursor.read_through_at`, for this account; expiry waits for it.
    read_through_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["chain", "key"], name="one_cursor_per_account")]
        indexes = [
            models.Index(fields=["chain", "read_at"], name="account_turn"),
            # Checkouts name the accounts that pay them, and expiry checks how far these were read.
            models.Index(fields=["chain", "address"], name="account_by_address"),
        ]

    def __str__(self) -> str:
        return f"{self.chain}:{self.address}@{self.height}"


class Block(models.Model):
    """The hash of a block that was read, kept while a reorg may still replace it."""

    chain = models.CharField(max_length=16)
    height = models.BigIntegerField()
    hash = models.CharField(max_length=80)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["chain", "height"], name="one_block_per_height")]

    def __str__(self) -> str:
        return f"{self.chain}#{self.height}"
