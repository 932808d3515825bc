"""Adds prices in other currencies than USD, and the quotes that they were converted by. The release before writes none of them."""

import re
from decimal import Decimal
from pathlib import Path

import django.db.models.deletion
from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models

_TRIGGERS = re.findall(
    r"^(CREATE (?:FUNCTION|TRIGGER) quote_append_only\b.*?;)\n(?=\n|CREATE|\Z)",
    (Path(__file__).parents[1] / "triggers.sql").read_text(),
    re.DOTALL | re.MULTILINE,
)


class Migration(migrations.Migration):
    """The new column is null, so no row is rewritten. 0011 looks at the rows while checkouts are written.

    A process of the release before cannot make a successor of a checkout that is not in USD: the constraint refuses its row. So
    PRICE_CURRENCIES is set once all processes are of this release.
    """

    stage = "expand"

    dependencies = [("checkouts", "0009_terminals")]

    operations = [
        migrations.AddField(
            model_name="checkout",
            name="price",
            field=models.DecimalField(decimal_places=2, max_digits=20, null=True),
        ),
        AddConstraintNotValid(
            model_name="checkout",
            constraint=models.CheckConstraint(
                condition=models.Q(("currency", "USD"), ("price", None))
                | models.Q(models.Q(("currency", "USD"), _negated=True), ("price__gt", 0), ("price__isnull", False)),
                name="checkout_price_is_not_usd",
            ),
        ),
        migrations.CreateModel(
            name="Quote",
            fields=[
                (
                    "checkout",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="quoted",
                        serialize=False,
                        to="checkouts.checkout",
                    ),
                ),
                ("currency", models.CharField(max_length=3)),
                ("price", models.DecimalField(decimal_places=2, max_digits=20)),
                ("usd_amount", models.DecimalField(decimal_places=2, max_digits=20)),
                ("rate", models.DecimalField(decimal_places=12, max_digits=24)),
                ("margin", models.DecimalField(decimal_places=4, max_digits=5)),
                ("evidence", models.JSONField()),
                ("taken_at", models.DateTimeField()),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("margin__gte", 0),
                            ("margin__lte", Decimal("0.05")),
                            ("price__gt", 0),
                            ("rate__gt", 0),
                            ("usd_amount__gt", 0),
                        ),
                        name="quote_is_possible",
                    )
                ],
            },
        ),
        migrations.RunSQL(_TRIGGERS, "DROP FUNCTION quote_append_only() CASCADE"),
    ]
