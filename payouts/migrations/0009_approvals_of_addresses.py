"""Refuses an approval of an address that its payout no longer has."""

import re
from pathlib import Path

from django.db import migrations

_TRIGGERS = (Path(__file__).parents[1] / "triggers.sql").read_text()
_STATEMENTS = re.findall(
    r"^CREATE ((?:FUNCTION|TRIGGER) payout_approval_of_present_address\b.*?;)\n(?=\n|CREATE|\Z)",
    _TRIGGERS,
    re.DOTALL | re.MULTILINE,
)


class Migration(migrations.Migration):

    stage = "expand"

    dependencies = [("payouts", "0008_payer_proofs")]

    operations = [
        # A new database has them already.
        migrations.RunSQL(
            [f"CREATE OR REPLACE {statement}" for statement in _STATEMENTS],
            "DROP FUNCTION payout_approval_of_present_address() CASCADE",
        ),
    ]
