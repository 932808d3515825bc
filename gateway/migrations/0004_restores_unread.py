"""Keeps which chains a restore from backup still has to read again: payouts wait for them."""

import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    stage = "expand"

    dependencies = [("gateway", "0003_halted_incidents")]

    operations = [
        migrations.AddField(
            model_name="restore",
            name="unread",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=16), null=True, size=None
            ),
        )
    ]
