"""Record a transaction's transfers to one owner as a sum or in parts, and mark the sums."""

import re
from pathlib import Path

from django.db import migrations, models

_TRIGGERS = (Path(__file__).parents[1] / "models/triggers.sql").read_text()
_STATEMENTS = re.findall(
    r"^CREATE ((?:FUNCTION|TRIGGER) \w+_one_reading\b.*?;)\n(?=\n|CREATE|\Z)", _TRIGGERS, re.DOTALL | re.MULTILINE
)


class Migration(migrations.Migration):

    stage = 'expand'

    dependencies = [
        ('wallets', '0003_witness_requests'),
    ]

    operations = [
        migrations.AddField(
            model_name='transfer',
            name='is_sum',
            field=models.BooleanField(db_default=False, default=False),
        ),
        # A new database has them already.
        migrations.RunSQL(
            [f"CREATE OR REPLACE {statement}" for statement in _STATEMENTS],
            migrations.RunSQL.noop,
        ),
    ]
