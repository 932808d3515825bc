"""Adds when a payment's reversal was told, sets it where an alert tells one, and takes the prices of reversed checkouts out of their days' volumes."""

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

# An alert says that the owners were told, and mailed: they are not told again. The shop got no event of it, and gets the one of
# the money's return. An alert that is closed, of money that is back, is about no reversal that stands.
TOLD = """
    UPDATE checkouts_payment p SET reversed_at = COALESCE(t.orphaned_at, i.created_at)
    FROM checkouts_inboxitem i
    JOIN checkouts_checkout c ON c.id = i.checkout_id JOIN wallets_transfer t ON t.id = i.transfer_id
    WHERE p.transfer_id = i.transfer_id AND p.reversed_at IS NULL AND i.reason = 'reversed'
      AND c.exception = 'reversed' AND (t.state <> 'confirmed' OR i.status = 'open')
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
        migrations.RunSQL(TOLD, migrations.RunSQL.noop),
    ]
