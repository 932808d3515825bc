"""Adds transactions of payers on Solana of which our account pays the fee. The release before knows none of them."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):

    stage = "expand"

    dependencies = [("accounts", "0008_decides_certain"), ("settlements", "0005_shares")]

    operations = [
        migrations.CreateModel(
            name="SponsoredTransaction",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("chain", models.CharField(max_length=16)),
                ("reference", models.CharField(max_length=120)),
                (
                    "merchant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="accounts.merchant",
                    ),
                ),
                ("fee_payer", models.CharField(max_length=44)),
                ("payer", models.CharField(max_length=44)),
                ("signed", models.BinaryField()),
                ("tx_hash", models.CharField(max_length=88)),
                ("fee", models.PositiveBigIntegerField()),
                ("last_height", models.BigIntegerField()),
                (
                    "outcome",
                    models.CharField(
                        choices=[("open", "Open"), ("done", "Done"), ("failed", "Failed")],
                        db_default="open",
                        default="open",
                        max_length=8,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["chain", "created_at"], name="sponsored_day"),
                    models.Index(fields=["payer", "created_at"], name="sponsored_by_payer"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=["reference"], name="sponsored_once_per_reference"),
                    models.UniqueConstraint(
                        condition=models.Q(("outcome", "open")),
                        fields=["chain", "payer"],
                        name="sponsored_one_open_per_payer",
                    ),
                ],
            },
        ),
    ]
