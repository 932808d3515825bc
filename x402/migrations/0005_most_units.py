"""Adds the maximum that a payer signed (scheme `upto`), and that no more is settled."""

from django.db import migrations, models

_WITHIN = "most_units IS NULL OR (units >= 0 AND units <= most_units)"


class Migration(migrations.Migration):
    """Checks the rows while payments are written: none of before has a maximum. The release before writes none."""

    atomic = False
    stage = "expand"

    dependencies = [("x402", "0004_witnessed_and_unread")]

    operations = [
        migrations.RunSQL(
            "ALTER TABLE x402_authorization ADD COLUMN IF NOT EXISTS most_units numeric(78, 0)",
            "ALTER TABLE x402_authorization DROP COLUMN most_units",
            state_operations=[
                migrations.AddField(
                    "authorization", "most_units", models.DecimalField(decimal_places=0, max_digits=78, null=True)
                )
            ],
        ),
        migrations.RunSQL(
            [
                "ALTER TABLE x402_authorization DROP CONSTRAINT IF EXISTS x402_authorization_within_signed",
                "ALTER TABLE x402_authorization ADD CONSTRAINT x402_authorization_within_signed"
                f" CHECK ({_WITHIN}) NOT VALID",
                "ALTER TABLE x402_authorization VALIDATE CONSTRAINT x402_authorization_within_signed",
            ],
            "ALTER TABLE x402_authorization DROP CONSTRAINT x402_authorization_within_signed",
            state_operations=[
                migrations.AddConstraint(
                    "authorization",
                    models.CheckConstraint(
                        condition=models.Q(
                            ("most_units", None),
                            models.Q(("units__gte", 0), ("units__lte", models.F("most_units"))),
                            _connector="OR",
                        ),
                        name="x402_authorization_within_signed",
                    ),
                )
            ],
        ),
        migrations.AlterField(
            "x402payment",
            "protocol",
            models.CharField(choices=[("hash", "Hash"), ("exact", "Exact"), ("upto", "Upto")], max_length=5),
        ),
    ]
