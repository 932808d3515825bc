"""Let no transfer pay as a sum and in its parts."""

from pathlib import Path

from django.db import migrations


class Migration(migrations.Migration):

    stage = 'expand'

    dependencies = [
        ('x402', '0002_payments_by_payer'),
    ]

    operations = [
        migrations.RunSQL(
            (Path(__file__).parents[1] / 'triggers.sql').read_text(),
            'DROP FUNCTION x402_payment_one_reading CASCADE',
        ),
    ]
