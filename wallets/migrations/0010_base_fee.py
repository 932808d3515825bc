"""Keeps what gas costs on a chain, for what pages say about fees. The release before writes cursors without it."""

from django.db import migrations, models


class Migration(migrations.Migration):

    stage = 'expand'

    dependencies = [
        ('wallets', '0009_payouts_expected_found'),
    ]

    operations = [
        migrations.AddField(
            model_name='chaincursor',
            name='base_fee',
            field=models.BigIntegerField(null=True),
        ),
    ]
