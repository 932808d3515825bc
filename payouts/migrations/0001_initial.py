from pathlib import Path

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True
    # The tables are new, though the database is not.
    stage = 'expand'

    dependencies = [
        ('accounts', '0006_payout_approvals'),
        ('settlements', '0003_gas_transactions_expire'),
        ('wallets', '0007_transfer_returns'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='PayoutBatch',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(max_length=40, unique=True)),
                ('mode', models.CharField(choices=[('live', 'Live'), ('test', 'Test')], max_length=4)),
                ('chain', models.CharField(max_length=16)),
                ('token', models.CharField(max_length=12)),
                ('method', models.CharField(choices=[('authorization', 'Authorization'), ('transaction', 'Transaction'), ('calls', 'Calls'), ('messages', 'Messages'), ('safe', 'Safe'), ('list', 'List')], max_length=13)),
                ('digest', models.BinaryField(max_length=32)),
                ('valid_until', models.DateTimeField(null=True)),
                ('status', models.CharField(choices=[('open', 'Open'), ('cancelled', 'Cancelled'), ('closed', 'Closed')], default='open', max_length=9)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('cooling_until', models.DateTimeField(null=True)),
                ('cancelled_at', models.DateTimeField(null=True)),
                ('closed_at', models.DateTimeField(null=True)),
                ('created_by', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('merchant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.merchant')),
                ('wallet', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='payout_batches', to='wallets.watchedwallet')),
            ],
            options={
                'db_table': 'payouts_batch',
            },
        ),
        migrations.CreateModel(
            name='Payout',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(max_length=40, unique=True)),
                ('mode', models.CharField(choices=[('live', 'Live'), ('test', 'Test')], max_length=4)),
                ('kind', models.CharField(choices=[('refund', 'Refund'), ('payout', 'Payout')], max_length=6)),
                ('status', models.CharField(choices=[('open', 'Open'), ('requested', 'Requested'), ('approved', 'Approved'), ('sending', 'Sending'), ('paid', 'Paid'), ('cancelled', 'Cancelled'), ('expired', 'Expired')], max_length=9)),
                ('exception', models.CharField(blank=True, choices=[('', 'None'), ('reversed', 'Reversed'), ('paid_twice', 'Paid Twice'), ('wrong_amount', 'Wrong Amount')], default='', max_length=12)),
                ('chain', models.CharField(max_length=16)),
                ('token', models.CharField(max_length=12)),
                ('choices', models.JSONField(default=list)),
                ('units', models.DecimalField(decimal_places=0, max_digits=78)),
                ('address', models.CharField(blank=True, max_length=80)),
                ('revision', models.PositiveIntegerField(default=0)),
                ('address_by', models.CharField(blank=True, choices=[('claim', 'Claim'), ('api', 'Api'), ('person', 'Person'), ('chain', 'Chain')], max_length=6)),
                ('proved_at', models.DateTimeField(null=True)),
                ('reason', models.CharField(blank=True, max_length=200)),
                ('reference', models.CharField(blank=True, max_length=128)),
                ('email', models.CharField(blank=True, max_length=254)),
                ('metadata', models.TextField(default='{}')),
                ('claim_digest', models.BinaryField(max_length=32, null=True)),
                ('claim_until', models.DateTimeField(null=True)),
                ('imported_tx', models.CharField(blank=True, max_length=128)),
                ('requested_key', models.CharField(blank=True, max_length=40)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('addressed_at', models.DateTimeField(null=True)),
                ('approved_at', models.DateTimeField(null=True)),
                ('paid_at', models.DateTimeField(null=True)),
                ('ended_at', models.DateTimeField(null=True)),
                ('merchant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='payouts', to='accounts.merchant')),
                ('movement', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='wallets.watchedmovement')),
                ('requested_by', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('batch', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='payouts', to='payouts.payoutbatch')),
            ],
        ),
        migrations.CreateModel(
            name='PayoutRequest',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('raw', models.BinaryField()),
                ('signature', models.BinaryField(null=True)),
                ('tx_hash', models.CharField(blank=True, max_length=128)),
                ('valid_until', models.DateTimeField(null=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('batch', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='requests', to='payouts.payoutbatch')),
                ('gas_transaction', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='settlements.gastransaction')),
                ('payout', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='requests', to='payouts.payout')),
            ],
            options={
                'db_table': 'payouts_request',
            },
        ),
        migrations.CreateModel(
            name='PayoutSource',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('units', models.DecimalField(decimal_places=0, max_digits=78)),
                ('payout', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='sources', to='payouts.payout')),
                ('transfer', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='payout_sources', to='wallets.transfer')),
            ],
            options={
                'db_table': 'payouts_source',
            },
        ),
        migrations.CreateModel(
            name='PayoutApproval',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('revision', models.PositiveIntegerField()),
                ('approved_at', models.DateTimeField()),
                ('payout', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='approvals', to='payouts.payout')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'db_table': 'payouts_approval',
                'constraints': [models.UniqueConstraint(fields=('payout', 'revision', 'user'), name='payout_approved_once')],
            },
        ),
        migrations.AddIndex(
            model_name='payoutbatch',
            index=models.Index(fields=['merchant', 'mode', '-id'], name='payout_batch_list'),
        ),
        migrations.AddIndex(
            model_name='payoutbatch',
            index=models.Index(condition=models.Q(('status', 'closed'), _negated=True), fields=['id'], name='payout_batch_unclosed'),
        ),
        migrations.AddConstraint(
            model_name='payoutbatch',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ['open', 'cancelled', 'closed'])), name='payout_batch_status_known'),
        ),
        migrations.AddIndex(
            model_name='payout',
            index=models.Index(fields=['merchant', 'mode', '-id'], name='payout_list'),
        ),
        migrations.AddIndex(
            model_name='payout',
            index=models.Index(fields=['merchant', 'mode', 'status', '-id'], name='payout_by_status'),
        ),
        migrations.AddIndex(
            model_name='payout',
            index=models.Index(condition=models.Q(('address__gt', '')), fields=['merchant', 'mode', 'chain', 'address'], name='payout_by_address'),
        ),
        migrations.AddIndex(
            model_name='payout',
            index=models.Index(condition=models.Q(('status', 'open')), fields=['claim_until'], name='payout_claim_due'),
        ),
        migrations.AddIndex(
            model_name='payout',
            index=models.Index(condition=models.Q(('status__in', ['open', 'requested', 'approved'])), fields=['id'], name='payout_unsent'),
        ),
        migrations.AddConstraint(
            model_name='payout',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ['open', 'requested', 'approved', 'sending', 'paid', 'cancelled', 'expired'])), name='payout_status_known'),
        ),
        migrations.AddConstraint(
            model_name='payout',
            constraint=models.CheckConstraint(condition=models.Q(('units__gt', 0)), name='payout_units_positive'),
        ),
        migrations.AddConstraint(
            model_name='payout',
            constraint=models.UniqueConstraint(fields=('movement',), name='payout_of_one_movement'),
        ),
        migrations.AddConstraint(
            model_name='payout',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('status', 'paid'), _negated=True), ('movement__isnull', False), models.Q(('imported_tx', ''), _negated=True), _connector='OR'), name='payout_paid_by_the_chain'),
        ),
        migrations.AddConstraint(
            model_name='payout',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('paid_at__isnull', False), ('status', 'paid')), models.Q(models.Q(('status', 'paid'), _negated=True), ('paid_at', None)), _connector='OR'), name='payout_paid_has_time'),
        ),
        migrations.AddConstraint(
            model_name='payout',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('address', ''), _negated=True), ('status__in', ['open', 'cancelled', 'expired']), _connector='OR'), name='payout_has_an_address'),
        ),
        migrations.AddConstraint(
            model_name='payout',
            constraint=models.UniqueConstraint(condition=models.Q(('reference', ''), _negated=True), fields=('merchant', 'mode', 'reference'), name='payout_once_per_reference'),
        ),
        migrations.AddConstraint(
            model_name='payout',
            constraint=models.UniqueConstraint(fields=('claim_digest',), name='payout_of_one_claim'),
        ),
        migrations.AddConstraint(
            model_name='payoutrequest',
            constraint=models.UniqueConstraint(fields=('payout', 'batch'), name='payout_request_once_per_batch'),
        ),
        migrations.AddConstraint(
            model_name='payoutsource',
            constraint=models.UniqueConstraint(fields=('payout', 'transfer'), name='payout_source_once'),
        ),
        migrations.AddConstraint(
            model_name='payoutsource',
            constraint=models.CheckConstraint(condition=models.Q(('units__gt', 0)), name='payout_source_units_positive'),
        ),
        migrations.RunSQL((Path(__file__).parents[1] / 'triggers.sql').read_text(), 'DROP FUNCTION payout_final_status_guard(), payout_of_one_batch() CASCADE'),
    ]
