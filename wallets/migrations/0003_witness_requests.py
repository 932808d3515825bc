"""Keep which transfers a second node must vouch for, because they are parts of a large sum."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    stage = 'expand'

    dependencies = [
        ('wallets', '0002_triggers_in_bulk'),
    ]

    operations = [
        migrations.CreateModel(
            name='WitnessRequest',
            fields=[
                ('transfer', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='witness_request', serialize=False, to='wallets.transfer')),
                ('block_hash', models.CharField(max_length=80)),
                ('asked_at', models.DateTimeField()),
                ('answered_at', models.DateTimeField(null=True)),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('answered_at', None)), fields=['asked_at'], name='witness_request_open')],
            },
        ),
    ]
