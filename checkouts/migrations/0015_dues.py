"""Adds what a checkout's price is in tokens of another currency. The release before writes none, and offers no such token."""

import re
from pathlib import Path

from django.db import migrations, models

_TRIGGERS = re.findall(
    r"^(CREATE (?:FUNCTION|TRIGGER) checkout_dues_\w+\b.*?;)\n(?=\n|CREATE|\Z)",
    (Path(__file__).parents[1] / "triggers.sql").read_text(),
    re.DOTALL | re.MULTILINE,
)


class Migration(migrations.Migration):
    """The new column is null, so no row is rewritten.

    A process of the release before would count such a token of a checkout of this one as dollars. So tokens are named in
    CHAIN_BASE_CHECKOUT_TOKENS once all processes are of this release.
    """

    stage = "expand"

    dependencies = [("checkouts", "0014_till_currency_and_pin")]

    operations = [
        migrations.AddField(model_name="checkout", name="dues", field=models.JSONField(null=True)),
        migrations.RunSQL(
            _TRIGGERS, "DROP FUNCTION checkout_dues_fixed() CASCADE; DROP FUNCTION checkout_dues_possible() CASCADE"
        ),
    ]
