"""Finds the payouts that an outflow may pay, while payouts are written."""

from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False
    stage = 'expand'

    dependencies = [
        ('payouts', '0002_following'),
    ]

    # An attempt that was broken off leaves an invalid index behind.
    operations = [
        migrations.RunSQL(
            [
                'DROP INDEX CONCURRENTLY IF EXISTS payout_waiting',
                "CREATE INDEX CONCURRENTLY payout_waiting ON payouts_payout (id) WHERE status IN ('requested', 'approved', 'sending')",
            ],
            'DROP INDEX CONCURRENTLY payout_waiting',
            state_operations=[
                migrations.AddIndex(
                    model_name='payout',
                    index=models.Index(
                        condition=models.Q(('status__in', ['requested', 'approved', 'sending'])), fields=['id'], name='payout_waiting'
                    ),
                )
            ],
        ),
    ]
