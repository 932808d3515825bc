"""The search box finds payments by the address they came from. The index is built while the table is in use."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    """Adds the index."""

    atomic = False

    dependencies = [("wallets", "0013_wallet_proofs")]

    operations = [
        AddIndexConcurrently(
            model_name="transfer",
            index=models.Index(
                fields=["merchant", "mode", "sender", "-id"], name="transfer_by_sender"
            ),
        )
    ]
