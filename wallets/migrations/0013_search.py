"""Find transfers by the beginning of a transaction's hash or of a payer's address."""

from django.contrib.postgres.indexes import OpClass
from django.db import migrations, models
from django.db.models.functions import Lower


def _index(name: str, column: str) -> migrations.RunSQL:
    """Add an index while rows are written. An attempt that was broken off leaves an invalid one behind."""
    begins = OpClass(Lower(column), name="text_pattern_ops")
    return migrations.RunSQL(
        [
            f"DROP INDEX CONCURRENTLY IF EXISTS {name}",
            f"CREATE INDEX CONCURRENTLY {name} ON wallets_transfer (merchant_id, mode, lower({column}) text_pattern_ops)",
        ],
        f"DROP INDEX CONCURRENTLY {name}",
        state_operations=[
            migrations.AddIndex(model_name="transfer", index=models.Index("merchant", "mode", begins, name=name))
        ],
    )


class Migration(migrations.Migration):
    """Adds two indexes. Small letters: an address's capitals are a checksum, which its beginning does not tell."""

    atomic = False
    stage = "expand"

    dependencies = [("wallets", "0012_refund_proofs")]

    operations = [_index("transfer_hash_begins", "tx_hash"), _index("transfer_sender_begins", "sender")]
