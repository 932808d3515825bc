"""Adds a merchant's rule for money that is certain. The release before inserts merchants without it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Off for every merchant; the default is the database's, so no row is rewritten."""

    stage = "expand"

    dependencies = [("accounts", "0007_payout_rules_wait")]

    operations = [
        migrations.AddField(
            model_name="merchant",
            name="decides_certain",
            field=models.BooleanField(db_default=False, default=False),
        )
    ]
