"""Adds the margin that a merchant puts on converted prices. The release before inserts merchants without it."""

from decimal import Decimal

from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models


class Migration(migrations.Migration):
    """None for every merchant, as before; the default is the database's, so no row is rewritten. 0016 looks at the rows."""

    stage = "expand"

    dependencies = [("accounts", "0014_time_zone")]

    operations = [
        migrations.AddField(
            model_name="merchant",
            name="rate_margin",
            field=models.DecimalField(db_default=Decimal(0), decimal_places=4, default=Decimal(0), max_digits=5),
        ),
        AddConstraintNotValid(
            model_name="merchant",
            constraint=models.CheckConstraint(
                condition=models.Q(("rate_margin__gte", 0), ("rate_margin__lte", Decimal("0.05"))),
                name="merchant_rate_margin_in_range",
            ),
        ),
    ]
