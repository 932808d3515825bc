"""Adds rates and their troubles."""

from django.db import migrations, models

REASONS = ["silent", "alone", "disagree", "daily_missing", "daily_far"]


class Migration(migrations.Migration):
    """New tables, which the release before does not know."""

    initial = True
    stage = "expand"

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Rate",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("currency", models.CharField(max_length=8)),
                ("source", models.CharField(max_length=64)),
                ("rate", models.DecimalField(decimal_places=12, max_digits=24)),
                ("taken_at", models.DateTimeField()),
                ("fetched_at", models.DateTimeField()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("currency", "source"), name="rate_once_per_source"),
                    models.CheckConstraint(condition=models.Q(("rate__gt", 0)), name="rate_positive"),
                ],
            },
        ),
        migrations.CreateModel(
            name="RateTrouble",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("currency", models.CharField(max_length=8)),
                ("reason", models.CharField(choices=[(one, one) for one in REASONS], max_length=16)),
                ("readings", models.JSONField()),
                ("began_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
            ],
            options={
                "indexes": [models.Index(fields=["-began_at"], name="rate_trouble_began")],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("ended_at", None)), fields=("currency",), name="one_open_rate_trouble"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("reason__in", REASONS)), name="rate_trouble_reason_known"
                    ),
                ],
            },
        ),
    ]
