"""Finds listed endpoints among the URLs of checkouts, and checks the statuses of deliveries, while both are written."""

from django.db import migrations, models

LISTED = models.Q(("public_id__isnull", False))


class Migration(migrations.Migration):

    atomic = False
    stage = 'expand'

    dependencies = [
        ('webhooks', '0006_listed_endpoints'),
    ]

    # An attempt that was broken off leaves an invalid index behind.
    operations = [
        migrations.RunSQL(
            [
                'DROP INDEX CONCURRENTLY IF EXISTS endpoint_id_once',
                'CREATE UNIQUE INDEX CONCURRENTLY endpoint_id_once ON webhooks_endpoint (public_id) WHERE public_id IS NOT NULL',
            ],
            'DROP INDEX CONCURRENTLY endpoint_id_once',
            state_operations=[
                migrations.AddConstraint(
                    model_name='endpoint',
                    constraint=models.UniqueConstraint(condition=LISTED, fields=('public_id',), name='endpoint_id_once'),
                )
            ],
        ),
        migrations.RunSQL(
            [
                'DROP INDEX CONCURRENTLY IF EXISTS endpoint_added',
                'CREATE INDEX CONCURRENTLY endpoint_added ON webhooks_endpoint (merchant_id, mode, id) WHERE public_id IS NOT NULL',
            ],
            'DROP INDEX CONCURRENTLY endpoint_added',
            state_operations=[
                migrations.AddIndex(
                    model_name='endpoint',
                    index=models.Index(condition=LISTED, fields=['merchant', 'mode', 'id'], name='endpoint_added'),
                )
            ],
        ),
        migrations.RunSQL(
            'ALTER TABLE webhooks_delivery VALIDATE CONSTRAINT delivery_status_known',
            migrations.RunSQL.noop,
        ),
    ]
