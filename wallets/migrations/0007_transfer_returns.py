"""Add how much of each transfer is promised back, and was sent back."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    stage = 'expand'

    dependencies = [
        ('wallets', '0006_inspected_wallets'),
    ]

    operations = [
        migrations.CreateModel(
            name='TransferReturn',
            fields=[
                ('transfer', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='sent_back', serialize=False, to='wallets.transfer')),
                ('units', models.DecimalField(decimal_places=0, max_digits=78)),
                ('reserved', models.DecimalField(decimal_places=0, max_digits=78)),
                ('returned', models.DecimalField(decimal_places=0, default=0, max_digits=78)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('reserved__gte', models.F('returned')), ('returned__gte', 0), ('units__gte', models.F('reserved'))), name='transfer_return_within_units')],
            },
        ),
    ]
