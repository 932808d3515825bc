"""Adds the public keys that signed receipts are checked with. The release before knows none of them."""

from pathlib import Path

from django.db import migrations, models

_TRIGGERS = (Path(__file__).parents[1] / "triggers.sql").read_text()


class Migration(migrations.Migration):

    stage = "expand"

    dependencies = [("gateway", "0004_restores_unread")]

    operations = [
        migrations.CreateModel(
            name="SigningKey",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kid", models.CharField(max_length=300, unique=True)),
                ("public", models.BinaryField(max_length=32)),
                ("purpose", models.CharField(choices=[("receipt", "Receipt"), ("test", "Test")], max_length=7)),
                ("since", models.DateTimeField()),
                ("until", models.DateTimeField(null=True)),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("purpose__in", ["receipt", "test"])), name="signing_key_purpose_known"
                    )
                ],
            },
        ),
        migrations.RunSQL(_TRIGGERS, "DROP FUNCTION signing_key_append_only() CASCADE"),
    ]
