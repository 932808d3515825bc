"""Adds outflows that paid a payout once more, and the steps of test payouts."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    stage = 'expand'

    dependencies = [
        ('payouts', '0001_initial'),
        ('wallets', '0009_payouts_expected_found'),
    ]

    operations = [
        migrations.CreateModel(
            name='PayoutSurplus',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('found_at', models.DateTimeField()),
                ('movement', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='wallets.watchedmovement')),
                ('payout', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='surplus', to='payouts.payout')),
            ],
            options={
                'db_table': 'payouts_surplus',
            },
        ),
        migrations.CreateModel(
            name='PayoutStep',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('send', 'Send'), ('send_less', 'Send Less'), ('confirm', 'Confirm'), ('orphan', 'Orphan')], max_length=9)),
                ('tx_hash', models.CharField(max_length=100)),
                ('due_at', models.DateTimeField()),
                ('done_at', models.DateTimeField(null=True)),
                ('payout', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='steps', to='payouts.payout')),
                ('wallet', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='wallets.watchedwallet')),
            ],
            options={
                'db_table': 'payouts_step',
                'indexes': [models.Index(condition=models.Q(('done_at', None)), fields=['due_at'], name='payout_step_due')],
            },
        ),
    ]
