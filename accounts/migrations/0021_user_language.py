"""Adds the language that a person chose. The release before inserts people without it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """None for everybody, as before; the default is the database's, so no row is rewritten."""

    stage = "expand"

    dependencies = [("accounts", "0020_key_agents")]

    operations = [
        migrations.AddField(
            model_name="user",
            name="language",
            field=models.CharField(blank=True, db_default="", default="", max_length=16),
        )
    ]
