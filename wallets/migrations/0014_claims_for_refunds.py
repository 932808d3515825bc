"""Lets a refund claim a transfer to a machines' address with which nothing was paid. It changes no table."""

from django.db import migrations, models


class Migration(migrations.Migration):
    stage = "expand"

    dependencies = [("wallets", "0013_search")]

    operations = [
        migrations.AlterField(
            model_name="transferclaim",
            name="kind",
            field=models.CharField(
                choices=[("checkout", "Checkout"), ("x402", "X402"), ("refund", "Refund")], max_length=8
            ),
        )
    ]
