"""Finds the transfers that reorgs removed, while transfers are written: what was sent back of them is told to their merchants."""

from django.db import migrations, models

_INDEX = models.Index(fields=["orphaned_at"], condition=models.Q(("state", "orphaned")), name="transfer_orphaned")


class Migration(migrations.Migration):
    """Adds an index of few rows. An attempt that was broken off leaves an invalid one behind."""

    atomic = False
    stage = "expand"

    dependencies = [("wallets", "0010_base_fee")]

    operations = [
        migrations.RunSQL(
            [
                "DROP INDEX CONCURRENTLY IF EXISTS transfer_orphaned",
                "CREATE INDEX CONCURRENTLY transfer_orphaned ON wallets_transfer (orphaned_at) WHERE state = 'orphaned'",
            ],
            "DROP INDEX CONCURRENTLY transfer_orphaned",
            state_operations=[migrations.AddIndex(model_name="transfer", index=_INDEX)],
        )
    ]
