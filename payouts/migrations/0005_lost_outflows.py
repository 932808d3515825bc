"""Keeps which outflows of a time that a restore lost a person saw who approved a payout all the same."""

import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    stage = "expand"

    dependencies = [("payouts", "0004_authorizations"), ("gateway", "0004_restores_unread")]

    operations = [
        migrations.AddField(
            model_name="payoutapproval",
            name="despite",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.BigIntegerField(), null=True, size=None
            ),
        )
    ]
