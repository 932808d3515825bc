"""Finds an account's transfers that were sent without a fee and succeeded: failures of others do not stop such a payer."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Adds an index while transactions are written. An attempt that was broken off leaves an invalid one behind."""

    atomic = False
    stage = "expand"

    dependencies = [("settlements", "0007_relay_claims")]

    operations = [
        migrations.RunSQL(
            [
                "DROP INDEX CONCURRENTLY IF EXISTS gas_transaction_paid_by",
                "CREATE INDEX CONCURRENTLY gas_transaction_paid_by ON settlements_gastransaction (payer, created_at)"
                " WHERE outcome = 'done' AND purpose = 'relay'",
            ],
            ["DROP INDEX CONCURRENTLY gas_transaction_paid_by"],
            state_operations=[
                migrations.AddIndex(
                    "gastransaction",
                    models.Index(
                        fields=["payer", "created_at"],
                        condition=models.Q(("outcome", "done"), ("purpose", "relay")),
                        name="gas_transaction_paid_by",
                    ),
                ),
            ],
        ),
    ]
