"""Sums of transfers get more digits than one transfer has: a column that overflows would hold up the whole queue."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Widens the two sums."""

    dependencies = [("checkouts", "0002_final_status_guard")]
    operations = [
        migrations.AlterField(
            model_name="checkout",
            name=name,
            field=models.DecimalField(decimal_places=6, default=0, max_digits=96),
        )
        for name in ("amount_received", "underpaid_reported")
    ]
