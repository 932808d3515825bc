"""Adds whether a merchant's buyers may pay without a network fee. The release before inserts merchants without it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """On for every merchant, and without effect until the operator pays such fees; no row is rewritten."""

    stage = "expand"

    dependencies = [("accounts", "0008_decides_certain")]

    operations = [
        migrations.AddField(
            model_name="merchant",
            name="is_gas_free",
            field=models.BooleanField(db_default=True, default=True),
        )
    ]
