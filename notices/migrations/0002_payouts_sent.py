"""Adds a kind of notice: of refunds and payouts that are paid. No column changes."""

import django.contrib.postgres.fields
from django.db import migrations, models

_KINDS = [
    ("payment", "Payments"),
    ("inbox", "Inbox items"),
    ("report", "Buyers' reports"),
    ("refund", "Refunds to approve"),
    ("payout", "Refunds and payouts sent"),
    ("endpoint", "Failing webhooks"),
    ("chain", "Network trouble"),
    ("gas", "Low gas"),
]


class Migration(migrations.Migration):

    stage = "expand"

    dependencies = [("notices", "0001_initial")]

    operations = [
        migrations.AlterField(
            model_name="chat",
            name="kinds",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(choices=_KINDS, max_length=8), size=None
            ),
        ),
        migrations.AlterField(
            model_name="choice",
            name="kind",
            field=models.CharField(choices=_KINDS, max_length=8),
        ),
    ]
