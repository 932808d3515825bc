"""Adds the resource that a success has its receipt for. The release before claims successes without it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Empty for every row; the default is the database's, so no row is rewritten."""

    stage = "expand"

    dependencies = [("x402", "0005_most_units")]

    operations = [
        migrations.AddField(
            model_name="authorization",
            name="receipt_for",
            field=models.CharField(blank=True, db_default="", default="", max_length=2048),
        )
    ]
