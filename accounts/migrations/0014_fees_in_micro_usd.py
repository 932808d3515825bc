"""Fees are kept to a millionth of a dollar: a cent is rounded once, on the statement. What was charged so far stays as it was."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Widens both columns."""

    dependencies = [("accounts", "0013_round_price_rivals")]
    operations = [
        migrations.AlterField(
            "feeentry", "amount", models.DecimalField(decimal_places=6, max_digits=96)
        ),
        migrations.AlterField(
            "feeday",
            "amount",
            models.DecimalField(decimal_places=6, default=0, max_digits=96),
        ),
    ]
