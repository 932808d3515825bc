"""Adds the claim of one transaction on what it pays. The release before sends nothing that buyers signed."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    stage = "expand"

    dependencies = [("settlements", "0006_sponsored_transactions")]

    operations = [
        migrations.CreateModel(
            name="RelayClaim",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("subject", models.CharField(max_length=40)),
                (
                    "transaction",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="settlements.gastransaction",
                    ),
                ),
                (
                    "sponsored",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="settlements.sponsoredtransaction",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("subject",), name="relay_claim_of_one_transaction"),
                    models.CheckConstraint(
                        condition=models.Q(("transaction", None), ("sponsored", None), _connector="OR"),
                        name="relay_claim_in_one_ledger",
                    ),
                ],
            },
        ),
    ]
