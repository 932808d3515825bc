"""Find what a payer paid a moment ago without reading all that it ever paid."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Adds an index to payments while they are written. An attempt that was broken off leaves an invalid one behind."""

    atomic = False
    stage = "expand"

    dependencies = [("x402", "0001_initial")]

    operations = [
        migrations.RunSQL(
            [
                "DROP INDEX CONCURRENTLY IF EXISTS x402_payment_by_payer",
                "CREATE INDEX CONCURRENTLY x402_payment_by_payer ON x402_payment (payer, verified_at) WHERE mode = 'live'",
            ],
            "DROP INDEX CONCURRENTLY x402_payment_by_payer",
            state_operations=[
                migrations.AddIndex(
                    model_name="x402payment",
                    index=models.Index(
                        fields=["payer", "verified_at"],
                        condition=models.Q(mode="live"),
                        name="x402_payment_by_payer",
                    ),
                )
            ],
        ),
    ]
