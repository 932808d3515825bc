"""How far chains and accounts were read."""

from django.db import models

from gateway.core.leases import EPOCH, Leased

__all__ = ["EPOCH", "AccountCursor", "Block", "ChainCursor"]


class ChainCursor(Leased):
    """How far a chain was read, and who is reading it: the lease is the watcher's."""

    chain = models.CharField(max_length=16, primary_key=True)
    # The chain's first block, so that a new local chain is told from the old one.
    genesis_hash = models.CharField(max_length=80, blank=True)
    height = models.BigIntegerField(null=True)
    block_hash = models.CharField(max_length=80, blank=True)
    # Where its reading began: what lies before was never ours to see.
    first_height = models.BigIntegerField(null=True)
    # Blocks asked for at once; halves on a provider's range error, grows on success.
    window = models.PositiveIntegerField(default=10)
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
