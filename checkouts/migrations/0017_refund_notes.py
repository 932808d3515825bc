"""What the team says it sent back to buyers, in a table of its own."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """Adds the table."""

    dependencies = [
        ("checkouts", "0016_team_notes"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="RefundNote",
            fields=[
                (
                    "checkout",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="refund_note",
                        serialize=False,
                        to="checkouts.checkout",
                    ),
                ),
                ("tx_hash", models.CharField(max_length=128)),
                ("noted_at", models.DateTimeField()),
                (
                    "author",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
    ]
