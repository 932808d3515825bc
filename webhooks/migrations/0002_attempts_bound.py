"""Says of the attempts so far when the last of them can have begun: they become the first partition (0004).

The month is two ahead, because the processes of the release before go on writing until that migration is applied.
"""

from django.db import migrations
from django.utils import timezone

_months = timezone.now().year * 12 + timezone.now().month - 1 + 2
BOUND = f"{_months // 12}-{_months % 12 + 1:02}-01"


class Migration(migrations.Migration):

    stage = 'expand'

    dependencies = [
        ('webhooks', '0001_initial'),
    ]

    operations = [
        migrations.RunSQL(
            f"ALTER TABLE webhooks_attempt ADD CONSTRAINT attempt_of_first_partition CHECK (started_at < '{BOUND} 00:00Z') NOT VALID",
            "ALTER TABLE webhooks_attempt DROP CONSTRAINT attempt_of_first_partition",
        ),
    ]
