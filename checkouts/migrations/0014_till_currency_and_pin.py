"""Adds a terminal's currency, its first networks, the payment link that it follows, and its PIN. The release before knows no terminals."""

import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    stage = "expand"

    dependencies = [("checkouts", "0013_receipts")]

    operations = [
        migrations.AddField(
            model_name="terminal",
            name="currency",
            field=models.CharField(db_default="USD", default="USD", max_length=3),
        ),
        migrations.AddField(
            model_name="terminal",
            name="chains",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=16), db_default=[], default=list, size=None
            ),
        ),
        migrations.AddField(
            model_name="terminal",
            name="follows",
            field=models.CharField(blank=True, db_default="", default="", max_length=40),
        ),
        migrations.AddField(
            model_name="terminal",
            name="pin_hash",
            field=models.CharField(blank=True, db_default="", default="", max_length=128),
        ),
        migrations.AddField(
            model_name="terminal",
            name="active_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddConstraint(
            model_name="terminal",
            constraint=models.UniqueConstraint(
                condition=models.Q(("follows__gt", "")),
                fields=("merchant", "mode", "follows"),
                name="terminal_follows_alone",
            ),
        ),
    ]
