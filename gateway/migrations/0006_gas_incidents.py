"""Incidents may be of gas that is nearly used up. The release before makes none of them; its status page would list one by its name."""

from django.db import migrations, models


class Migration(migrations.Migration):
    stage = "expand"

    dependencies = [("gateway", "0005_signing_keys")]

    operations = [
        migrations.AlterField(
            model_name="incident",
            name="kind",
            field=models.CharField(
                choices=[
                    ("chain", "Chain"),
                    ("sources", "Sources"),
                    ("credits", "Credits"),
                    ("webhooks", "Webhooks"),
                    ("gas", "Gas"),
                ],
                max_length=8,
            ),
        )
    ]
