"""Adds acceptances of short money, and what they accepted. The release before writes none of the new columns."""

import django.db.models.deletion
from django.conf import settings
from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models

WAITING = models.Q(("done_at", None), ("failed_at", None), ("undone_at", None))


class Migration(migrations.Migration):
    """Each new column is null, so no row is rewritten. 0006 looks at the rows while checkouts are written."""

    stage = "expand"

    dependencies = [
        ("checkouts", "0004_more_test_scenarios"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="checkout",
            name="accepted_amount",
            field=models.DecimalField(decimal_places=6, max_digits=96, null=True),
        ),
        AddConstraintNotValid(
            model_name="checkout",
            constraint=models.CheckConstraint(
                condition=models.Q(("accepted_amount", None))
                | models.Q(("accepted_amount__gt", 0), ("status", "completed")),
                name="checkout_accepted_is_completed",
            ),
        ),
        migrations.AddField(
            model_name="inboxdecision",
            name="accepted_amount",
            field=models.DecimalField(decimal_places=6, max_digits=96, null=True),
        ),
        migrations.CreateModel(
            name="Acceptance",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("decided_at", models.DateTimeField()),
                ("due_at", models.DateTimeField()),
                ("undone_at", models.DateTimeField(null=True)),
                ("done_at", models.DateTimeField(null=True)),
                ("failed_at", models.DateTimeField(null=True)),
                ("failure", models.CharField(blank=True, max_length=200)),
                ("amount", models.DecimalField(decimal_places=6, max_digits=96)),
                (
                    "actor",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "checkout",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="acceptances",
                        to="checkouts.checkout",
                    ),
                ),
                (
                    "undone_by",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["checkout", "-id"], name="acceptances_of_checkout"),
                    models.Index(condition=WAITING, fields=["due_at"], name="acceptance_due"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("failed_at", None), ("undone_at", None)),
                        fields=("checkout",),
                        name="checkout_has_one_standing_acceptance",
                    ),
                    models.CheckConstraint(condition=models.Q(("amount__gt", 0)), name="acceptance_amount_positive"),
                    models.CheckConstraint(
                        condition=models.Q(("done_at", None)) | models.Q(("failed_at", None), ("undone_at", None)),
                        name="acceptance_ends_once",
                    ),
                ],
            },
        ),
    ]
