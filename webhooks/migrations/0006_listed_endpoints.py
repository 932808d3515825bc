"""Gives endpoints what listed ones have, and secrets an endpoint of their own.

The release before inserts endpoints without these columns. It finds secrets by their merchant, so an endpoint's own have none.
"""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    stage = 'expand'

    dependencies = [
        ('webhooks', '0005_attempts_rest'),
    ]

    operations = [
        migrations.AddField(
            model_name='endpoint',
            name='public_id',
            field=models.CharField(max_length=40, null=True),
        ),
        migrations.AddField(
            model_name='endpoint',
            name='name',
            field=models.CharField(blank=True, db_default='', default='', max_length=80),
        ),
        migrations.AddField(
            model_name='endpoint',
            name='events',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=40), null=True, size=None),
        ),
        migrations.AddField(
            model_name='endpoint',
            name='created_by',
            field=models.CharField(blank=True, db_default='', default='', max_length=80),
        ),
        migrations.AlterField(
            model_name='signingsecret',
            name='merchant',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='webhook_secrets', to='accounts.merchant'),
        ),
        migrations.AddField(
            model_name='signingsecret',
            name='endpoint',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='secrets', to='webhooks.endpoint'),
        ),
        migrations.AddConstraint(
            model_name='signingsecret',
            constraint=models.UniqueConstraint(condition=models.Q(('expires_at', None)), fields=('endpoint',), name='one_current_secret_of_endpoint'),
        ),
        migrations.AddConstraint(
            model_name='signingsecret',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('endpoint__isnull', False), ('merchant', None)), models.Q(('endpoint', None), ('merchant__isnull', False)), _connector='OR'), name='secret_has_one_owner'),
        ),
        migrations.AlterField(
            model_name='delivery',
            name='status',
            field=models.CharField(choices=[('pending', 'Pending'), ('held', 'Held'), ('delivered', 'Delivered'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], default='pending', max_length=9),
        ),
        # Each row fits the wider list: 0007 looks at them while deliveries are written.
        migrations.RunSQL(
            [
                'ALTER TABLE webhooks_delivery DROP CONSTRAINT delivery_status_known',
                "ALTER TABLE webhooks_delivery ADD CONSTRAINT delivery_status_known CHECK (status IN ('pending', 'held', 'delivered', 'failed', 'cancelled')) NOT VALID",
            ],
            [
                "UPDATE webhooks_delivery SET status = 'failed' WHERE status = 'cancelled'",
                'ALTER TABLE webhooks_delivery DROP CONSTRAINT delivery_status_known',
                "ALTER TABLE webhooks_delivery ADD CONSTRAINT delivery_status_known CHECK (status IN ('pending', 'held', 'delivered', 'failed')) NOT VALID",
            ],
            state_operations=[
                migrations.RemoveConstraint(model_name='delivery', name='delivery_status_known'),
                migrations.AddConstraint(
                    model_name='delivery',
                    constraint=models.CheckConstraint(condition=models.Q(('status__in', ['pending', 'held', 'delivered', 'failed', 'cancelled'])), name='delivery_status_known'),
                ),
            ],
        ),
    ]
