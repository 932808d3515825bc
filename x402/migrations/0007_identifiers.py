"""Adds the payer's own id of a payment, which is one payment's. The release before writes none."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Null for every row, so none is rewritten; the index is built while payments are written."""

    atomic = False
    stage = "expand"

    dependencies = [("x402", "0006_receipt_for")]

    # An attempt that was broken off leaves its column, or an invalid index, behind.
    operations = [
        migrations.RunSQL(
            "ALTER TABLE x402_authorization ADD COLUMN IF NOT EXISTS identifier bytea",
            "ALTER TABLE x402_authorization DROP COLUMN identifier",
            state_operations=[
                migrations.AddField(
                    "authorization",
                    "identifier",
                    models.BinaryField(max_length=32, null=True),
                )
            ],
        ),
        migrations.RunSQL(
            [
                "DROP INDEX CONCURRENTLY IF EXISTS x402_identifier_of_one_payment",
                "CREATE UNIQUE INDEX CONCURRENTLY x402_identifier_of_one_payment ON x402_authorization "
                "(merchant_id, mode, payer, identifier) WHERE identifier IS NOT NULL",
            ],
            "DROP INDEX CONCURRENTLY x402_identifier_of_one_payment",
            state_operations=[
                migrations.AddConstraint(
                    "authorization",
                    models.UniqueConstraint(
                        condition=models.Q(("identifier__isnull", False)),
                        fields=("merchant", "mode", "payer", "identifier"),
                        name="x402_identifier_of_one_payment",
                    ),
                )
            ],
        ),
    ]
