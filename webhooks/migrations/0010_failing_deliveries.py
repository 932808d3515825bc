"""Indexes the deliveries that failed and will be tried again, while they are written."""

from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False
    stage = 'expand'

    dependencies = [
        ('webhooks', '0009_endpoint_formats'),
    ]

    # An attempt that was broken off leaves an invalid index behind.
    operations = [
        migrations.RunSQL(
            [
                'DROP INDEX CONCURRENTLY IF EXISTS delivery_failing',
                'CREATE INDEX CONCURRENTLY delivery_failing ON webhooks_delivery (merchant_id, mode, created_at, id)'
                " WHERE status = 'pending' AND tries > 0",
            ],
            'DROP INDEX CONCURRENTLY delivery_failing',
            state_operations=[
                migrations.AddIndex(
                    model_name='delivery',
                    index=models.Index(
                        condition=models.Q(('status', 'pending'), ('tries__gt', 0)),
                        fields=['merchant', 'mode', 'created_at', 'id'],
                        name='delivery_failing',
                    ),
                )
            ],
        ),
    ]
