"""Finds whether a merchant of before `CHARGE_FEES` is here, which each charge asks, while merchants are written."""

from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False
    stage = 'expand'

    dependencies = [
        ('accounts', '0016_rate_margin_in_range'),
    ]

    # An attempt that was broken off leaves an invalid index behind.
    operations = [
        migrations.RunSQL(
            [
                'DROP INDEX CONCURRENTLY IF EXISTS merchant_charged_before',
                'CREATE INDEX CONCURRENTLY merchant_charged_before ON accounts_merchant (id) WHERE charged_before',
            ],
            'DROP INDEX CONCURRENTLY merchant_charged_before',
            state_operations=[
                migrations.AddIndex(
                    model_name='merchant',
                    index=models.Index(condition=models.Q(('charged_before', True)), fields=['id'], name='merchant_charged_before'),
                )
            ],
        ),
    ]
