"""Adds the program that used a key last, as it calls itself. The release before notes uses without it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Empty for every key; the default is the database's, so no row is rewritten."""

    stage = "expand"

    dependencies = [("accounts", "0018_price_currency")]

    operations = [
        migrations.AddField(
            model_name="apikey",
            name="last_used_agent",
            field=models.CharField(db_default="", default="", max_length=120),
        )
    ]
