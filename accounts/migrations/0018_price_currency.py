"""Adds the currency that a merchant's forms begin with. The release before inserts merchants without it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """USD for every merchant, as before; the default is the database's, so no row is rewritten."""

    stage = "expand"

    dependencies = [("accounts", "0017_charged_before")]

    operations = [
        migrations.AddField(
            model_name="merchant",
            name="price_currency",
            field=models.CharField(db_default="USD", default="USD", max_length=3),
        )
    ]
