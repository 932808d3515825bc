"""Adds the time zone in which a merchant's months begin. The release before inserts merchants without it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """UTC for every merchant, as before; the default is the database's, so no row is rewritten."""

    stage = "expand"

    dependencies = [("accounts", "0013_charged_before")]

    operations = [
        migrations.AddField(
            model_name="merchant",
            name="time_zone",
            field=models.CharField(db_default="UTC", default="UTC", max_length=64),
        )
    ]
