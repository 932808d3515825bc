"""Marks the merchants of an installation that charged fees before `CHARGE_FEES` existed. The release before inserts merchants without it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """True for every merchant that there is, false for later ones; both are defaults of the database, so no row is rewritten."""

    stage = "expand"

    dependencies = [("accounts", "0012_domain_is_proven")]

    operations = [
        migrations.AddField(
            model_name="merchant",
            name="charged_before",
            field=models.BooleanField(db_default=True, default=False),
        ),
        migrations.AlterField(
            model_name="merchant",
            name="charged_before",
            field=models.BooleanField(db_default=False, default=False),
        ),
    ]
