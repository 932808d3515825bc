"""Adds when a chain was halted, and above which block its payments are doubted."""

from django.db import migrations, models


class Migration(migrations.Migration):

    stage = 'expand'

    dependencies = [
        ('wallets', '0004_one_reading'),
    ]

    operations = [
        migrations.AddField(
            model_name='chaincursor',
            name='halted_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='chaincursor',
            name='doubted_above',
            field=models.BigIntegerField(null=True),
        ),
    ]
