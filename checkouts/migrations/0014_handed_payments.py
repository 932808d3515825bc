"""A payment that a successor took over still names the expired checkout that it was made to."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """Adds the column, and an index of the few rows that have it."""

    dependencies = [("checkouts", "0013_rival_notices")]

    operations = [
        migrations.AddField(
            model_name="payment",
            name="handed_by",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="handed_payments",
                to="checkouts.checkout",
            ),
        ),
        migrations.AddIndex(
            model_name="payment",
            index=models.Index(
                condition=models.Q(("handed_by__isnull", False)),
                fields=["handed_by"],
                name="payment_handed",
            ),
        ),
    ]
