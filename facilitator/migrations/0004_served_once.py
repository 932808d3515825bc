from django.db import migrations, models

# Each of these was answered `success` before: to whom is known by the key that it was asked for with.
_SERVE = """
    UPDATE facilitator_authorization
    SET served_at = COALESCE(
            (SELECT p.verified_at FROM facilitator_x402payment p WHERE p.id = payment_id), created_at
        ),
        served_key = COALESCE(pending ->> 'key', '')
    WHERE state = 'settled' OR payment_id IS NOT NULL
"""


class Migration(migrations.Migration):

    dependencies = [
        ('facilitator', '0003_signed_transactions'),
    ]

    operations = [
        migrations.AddField(
            model_name='authorization',
            name='served_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='authorization',
            name='served_key',
            field=models.CharField(blank=True, max_length=255),
        ),
        migrations.RunSQL(_SERVE, migrations.RunSQL.noop),
    ]
