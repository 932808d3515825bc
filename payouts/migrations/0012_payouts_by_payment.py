"""Finds the payouts that were paid since a time, which each pass of notices asks."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """The index is built while payouts are written."""

    atomic = False
    stage = "expand"

    dependencies = [("payouts", "0011_quotes")]

    # An attempt that was broken off leaves an invalid index behind.
    operations = [
        migrations.RunSQL(
            [
                "DROP INDEX CONCURRENTLY IF EXISTS payout_by_payment",
                "CREATE INDEX CONCURRENTLY payout_by_payment ON payouts_payout (paid_at) WHERE paid_at IS NOT NULL",
            ],
            "DROP INDEX CONCURRENTLY payout_by_payment",
            state_operations=[
                migrations.AddIndex(
                    model_name="payout",
                    index=models.Index(
                        condition=models.Q(("paid_at__isnull", False)), fields=["paid_at"], name="payout_by_payment"
                    ),
                )
            ],
        )
    ]
