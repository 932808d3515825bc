"""Adds when two nodes were found to know a payment, with an index of what a seller got on one node's word; and unread responses."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Adds indexes while payments are written. An attempt that was broken off leaves columns or an invalid index behind."""

    atomic = False
    stage = "expand"

    dependencies = [("x402", "0003_one_reading")]

    operations = [
        migrations.RunSQL(
            "ALTER TABLE x402_payment ADD COLUMN IF NOT EXISTS witnessed_at timestamptz,"
            " ADD COLUMN IF NOT EXISTS unread_digest bytea",
            "ALTER TABLE x402_payment DROP COLUMN witnessed_at, DROP COLUMN unread_digest",
            state_operations=[
                migrations.AddField("x402payment", "witnessed_at", models.DateTimeField(null=True)),
                migrations.AddField("x402payment", "unread_digest", models.BinaryField(max_length=32, null=True)),
            ],
        ),
        migrations.RunSQL(
            [
                "DROP INDEX CONCURRENTLY IF EXISTS x402_payment_unwitnessed",
                "CREATE INDEX CONCURRENTLY x402_payment_unwitnessed ON x402_payment (merchant_id, verified_at)"
                " INCLUDE (units) WHERE mode = 'live' AND witnessed_at IS NULL",
                "DROP INDEX CONCURRENTLY IF EXISTS x402_payment_unread",
                "CREATE INDEX CONCURRENTLY x402_payment_unread ON x402_payment (merchant_id)"
                " WHERE unread_digest IS NOT NULL",
            ],
            [
                "DROP INDEX CONCURRENTLY x402_payment_unread",
                "DROP INDEX CONCURRENTLY x402_payment_unwitnessed",
            ],
            state_operations=[
                migrations.AddIndex(
                    "x402payment",
                    models.Index(
                        fields=["merchant"],
                        condition=models.Q(unread_digest__isnull=False),
                        name="x402_payment_unread",
                    ),
                ),
                migrations.AddIndex(
                    "x402payment",
                    models.Index(
                        fields=["merchant", "verified_at"],
                        include=["units"],
                        condition=models.Q(mode="live", witnessed_at=None),
                        name="x402_payment_unwitnessed",
                    ),
                ),
            ],
        ),
    ]
