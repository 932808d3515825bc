"""Adds when a payment's reversal was told, and takes the prices of reversed checkouts out of their days' volumes."""

from django.db import migrations, models

VOLUMES = """
    INSERT INTO checkouts_dailytotal (merchant_id, mode, day, chain, token, created, completed, expired, volume)
    SELECT c.merchant_id, c.mode, (c.paid_at AT TIME ZONE 'UTC')::date, last.chain, last.token, 0, 0, 0, {sign}c.amount
    FROM checkouts_checkout c
    CROSS JOIN LATERAL (
        SELECT t.chain, t.token FROM checkouts_payment p JOIN wallets_transfer t ON t.id = p.transfer_id
        WHERE p.checkout_id = c.id AND p.credited_at <= c.paid_at ORDER BY t.id DESC LIMIT 1
    ) last
    WHERE c.exception = 'reversed' AND c.paid_at IS NOT NULL
"""


class Migration(migrations.Migration):

    stage = 'expand'

    dependencies = [
        ('checkouts', '0001_initial'),
    ]

    operations = [
        migrations.AddField(
            model_name='payment',
            name='reversed_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.RunSQL(VOLUMES.format(sign='-'), VOLUMES.format(sign='')),
    ]
