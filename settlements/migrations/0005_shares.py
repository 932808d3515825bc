"""Notes for whose business a gas account pays, who signed what it carries out, and what that came to."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Adds indexes while transactions are written. An attempt that was broken off leaves columns or an invalid index behind."""

    atomic = False
    stage = "expand"

    dependencies = [("accounts", "0008_decides_certain"), ("settlements", "0004_relays")]

    operations = [
        migrations.RunSQL(
            [
                "ALTER TABLE settlements_gastransaction ADD COLUMN IF NOT EXISTS merchant_id bigint,"
                " ADD COLUMN IF NOT EXISTS payer varchar(42) NOT NULL DEFAULT '',"
                " ADD COLUMN IF NOT EXISTS outcome varchar(8) NOT NULL DEFAULT 'open'",
                "ALTER TABLE settlements_gastransaction DROP CONSTRAINT IF EXISTS gas_transaction_merchant_fk",
                "ALTER TABLE settlements_gastransaction ADD CONSTRAINT gas_transaction_merchant_fk"
                " FOREIGN KEY (merchant_id) REFERENCES accounts_merchant (id) DEFERRABLE INITIALLY DEFERRED NOT VALID",
                "ALTER TABLE settlements_gastransaction VALIDATE CONSTRAINT gas_transaction_merchant_fk",
            ],
            "ALTER TABLE settlements_gastransaction DROP COLUMN merchant_id, DROP COLUMN payer, DROP COLUMN outcome",
            state_operations=[
                migrations.AddField(
                    "gastransaction",
                    "merchant",
                    models.ForeignKey(
                        "accounts.Merchant", models.PROTECT, null=True, related_name="+", db_index=False
                    ),
                ),
                migrations.AddField(
                    "gastransaction", "payer", models.CharField(blank=True, db_default="", default="", max_length=42)
                ),
                migrations.AddField(
                    "gastransaction",
                    "outcome",
                    models.CharField(
                        choices=[("open", "Open"), ("done", "Done"), ("failed", "Failed")],
                        db_default="open",
                        default="open",
                        max_length=8,
                    ),
                ),
            ],
        ),
        migrations.RunSQL(
            [
                "DROP INDEX CONCURRENTLY IF EXISTS gas_transaction_share",
                "CREATE INDEX CONCURRENTLY gas_transaction_share ON settlements_gastransaction (merchant_id, created_at)"
                " WHERE merchant_id IS NOT NULL",
                "DROP INDEX CONCURRENTLY IF EXISTS gas_transaction_failures",
                "CREATE INDEX CONCURRENTLY gas_transaction_failures ON settlements_gastransaction (merchant_id, created_at)"
                " WHERE merchant_id IS NOT NULL AND NOT (outcome = 'done')",
                "DROP INDEX CONCURRENTLY IF EXISTS gas_transaction_by_payer",
                "CREATE INDEX CONCURRENTLY gas_transaction_by_payer ON settlements_gastransaction (payer, created_at)"
                " WHERE NOT (payer = '') AND NOT (outcome = 'done')",
            ],
            [
                "DROP INDEX CONCURRENTLY gas_transaction_by_payer",
                "DROP INDEX CONCURRENTLY gas_transaction_failures",
                "DROP INDEX CONCURRENTLY gas_transaction_share",
            ],
            state_operations=[
                migrations.AddIndex(
                    "gastransaction",
                    models.Index(
                        fields=["merchant", "created_at"],
                        condition=models.Q(merchant__isnull=False),
                        name="gas_transaction_share",
                    ),
                ),
                migrations.AddIndex(
                    "gastransaction",
                    models.Index(
                        fields=["merchant", "created_at"],
                        condition=models.Q(merchant__isnull=False) & ~models.Q(outcome="done"),
                        name="gas_transaction_failures",
                    ),
                ),
                migrations.AddIndex(
                    "gastransaction",
                    models.Index(
                        fields=["payer", "created_at"],
                        condition=~models.Q(payer="") & ~models.Q(outcome="done"),
                        name="gas_transaction_by_payer",
                    ),
                ),
            ],
        ),
    ]
