"""Takes a method away that no batch was ever made with: TON's transactions are those of the others. No SQL."""

from django.db import migrations, models


class Migration(migrations.Migration):

    stage = "expand"

    dependencies = [("payouts", "0006_noted_refunds")]

    operations = [
        migrations.AlterField(
            model_name="payoutbatch",
            name="method",
            field=models.CharField(
                choices=[
                    ("authorization", "Authorization"),
                    ("transaction", "Transaction"),
                    ("calls", "Calls"),
                    ("safe", "Safe"),
                    ("list", "List"),
                ],
                max_length=13,
            ),
        ),
    ]
