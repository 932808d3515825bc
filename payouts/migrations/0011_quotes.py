"""Keeps how the amount of a payout was converted that was asked for in another currency."""

from django.db import migrations, models


class Migration(migrations.Migration):

    stage = "expand"

    dependencies = [("payouts", "0010_recipients")]

    operations = [
        migrations.AddField(
            model_name="payout",
            name="quote",
            field=models.JSONField(null=True),
        ),
    ]
