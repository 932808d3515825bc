"""Adds the team's notes about customers."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """Makes a new table."""

    stage = "expand"

    dependencies = [
        ("accounts", "0012_domain_is_proven"),
        ("checkouts", "0007_search"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="CustomerNote",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("mode", models.CharField(choices=[("live", "Live"), ("test", "Test")], max_length=4)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("ref", "Customer reference"),
                            ("email", "E-mail address"),
                            ("address", "Paying address"),
                        ],
                        max_length=7,
                    ),
                ),
                ("value", models.CharField(max_length=254)),
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
                (
                    "merchant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="accounts.merchant",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["merchant", "mode", "-written_at", "-id"], name="customer_note_list")],
                "constraints": [
                    models.UniqueConstraint(fields=("merchant", "mode", "kind", "value"), name="customer_note_once"),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["ref", "email", "address"])), name="customer_note_kind_known"
                    ),
                ],
            },
        )
    ]
