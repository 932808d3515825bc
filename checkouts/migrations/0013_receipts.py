"""Adds signed receipts. The release before writes and reads none."""

import re
from pathlib import Path

import django.db.models.deletion
from django.db import migrations, models

_TRIGGERS = re.findall(
    r"^(CREATE (?:FUNCTION|TRIGGER) receipt_append_only\b.*?;)\n(?=\n|CREATE|\Z)",
    (Path(__file__).parents[1] / "triggers.sql").read_text(),
    re.DOTALL | re.MULTILINE,
)


class Migration(migrations.Migration):

    stage = "expand"

    dependencies = [("checkouts", "0012_search_by_price")]

    operations = [
        migrations.CreateModel(
            name="Receipt",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.BigIntegerField(default=1)),
                ("jti", models.CharField(max_length=40, unique=True)),
                ("kid", models.CharField(max_length=300)),
                ("jws", models.BinaryField()),
                ("signed_at", models.DateTimeField()),
                (
                    "checkout",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="receipts",
                        to="checkouts.checkout",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("checkout", "number"), name="receipt_once_per_number")
                ],
            },
        ),
        migrations.RunSQL(_TRIGGERS, "DROP FUNCTION receipt_append_only() CASCADE"),
    ]
