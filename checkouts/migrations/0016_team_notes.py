"""The team's notes about checkouts, in a table of their own."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """Adds the table."""

    dependencies = [
        ("checkouts", "0015_cancelling"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="TeamNote",
            fields=[
                (
                    "checkout",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="team_note",
                        serialize=False,
                        to="checkouts.checkout",
                    ),
                ),
                ("text", models.CharField(max_length=1000)),
                ("written_at", models.DateTimeField()),
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
