"""The inbox tells of payments that were credited although another checkout of the price had just expired."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Adds the reason."""

    dependencies = [("checkouts", "0012_escrow")]

    operations = [
        migrations.AlterField(
            model_name="inboxitem",
            name="reason",
            field=models.CharField(
                choices=[
                    ("late", "Late"),
                    ("late_outage", "Late Outage"),
                    ("extra", "Extra"),
                    ("wrong_network", "Wrong Network"),
                    ("wrong_token", "Wrong Token"),
                    ("dust", "Dust"),
                    ("unmatched", "Unmatched"),
                    ("ambiguous", "Ambiguous"),
                    ("reversed", "Reversed"),
                    ("rival", "Rival"),
                ],
                max_length=13,
            ),
        )
    ]
