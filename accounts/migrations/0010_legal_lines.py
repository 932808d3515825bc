"""Adds the seller's legal lines to branding. The release before inserts branding without them."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Empty for every merchant; the default is the database's, so no row is rewritten."""

    stage = "expand"

    dependencies = [("accounts", "0009_gas_free")]

    operations = [
        migrations.AddField(
            model_name="branding",
            name="legal_lines",
            field=models.CharField(blank=True, db_default="", default="", max_length=400),
        )
    ]
