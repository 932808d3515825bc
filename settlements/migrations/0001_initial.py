from pathlib import Path

import django.db.models.deletion
import django.utils.timezone
import functools
import gateway.core.ids
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0001_initial'),
        ('wallets', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='BookCheck',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('chain', models.CharField(max_length=16, unique=True)),
                ('checked_at', models.DateTimeField()),
                ('asked', models.PositiveIntegerField(default=0)),
                ('height', models.BigIntegerField(null=True)),
                ('differences', models.JSONField(default=list)),
            ],
        ),
        migrations.CreateModel(
            name='GasAccount',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('chain', models.CharField(max_length=16)),
                ('address', models.CharField(max_length=42)),
                ('next_nonce', models.BigIntegerField(null=True)),
                ('balance_wei', models.DecimalField(decimal_places=0, max_digits=78, null=True)),
                ('balance_at', models.DateTimeField(null=True)),
                ('low_told_at', models.DateTimeField(null=True)),
                ('doubt_told_at', models.DateTimeField(null=True)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('chain', 'address'), name='gas_account_once')],
            },
        ),
        migrations.CreateModel(
            name='GasTransaction',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('nonce', models.BigIntegerField()),
                ('purpose', models.CharField(choices=[('sweep', 'Sweep'), ('x402', 'X402'), ('cancel', 'Cancel')], max_length=8)),
                ('reference', models.CharField(max_length=120)),
                ('to', models.CharField(max_length=42)),
                ('data', models.BinaryField()),
                ('gas_limit', models.PositiveBigIntegerField()),
                ('most_wei', models.DecimalField(decimal_places=0, max_digits=78)),
                ('state', models.CharField(choices=[('intended', 'Intended'), ('sent', 'Sent'), ('mined', 'Mined'), ('dropped', 'Dropped')], default='intended', max_length=8)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('sent_at', models.DateTimeField(null=True)),
                ('tx_hash', models.CharField(blank=True, max_length=66)),
                ('block_height', models.BigIntegerField(null=True)),
                ('block_hash', models.CharField(blank=True, max_length=66)),
                ('succeeded', models.BooleanField(null=True)),
                ('gas_used', models.PositiveBigIntegerField(null=True)),
                ('cost_wei', models.DecimalField(decimal_places=0, max_digits=78, null=True)),
                ('mined_at', models.DateTimeField(null=True)),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='transactions', to='settlements.gasaccount')),
            ],
        ),
        migrations.CreateModel(
            name='GasAttempt',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveSmallIntegerField()),
                ('tx_hash', models.CharField(max_length=66, unique=True)),
                ('raw', models.BinaryField()),
                ('max_fee', models.DecimalField(decimal_places=0, max_digits=78)),
                ('priority_fee', models.DecimalField(decimal_places=0, max_digits=78)),
                ('signed_at', models.DateTimeField()),
                ('sent_at', models.DateTimeField(null=True)),
                ('error', models.CharField(blank=True, max_length=200)),
                ('transaction', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='attempts', to='settlements.gastransaction')),
            ],
        ),
        migrations.CreateModel(
            name='Hold',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('mode', models.CharField(choices=[('live', 'Live'), ('test', 'Test')], max_length=4)),
                ('subject_id', models.CharField(max_length=40, unique=True)),
                ('nonce', models.BinaryField(max_length=32, unique=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('released_at', models.DateTimeField(null=True)),
                ('released_by', models.CharField(blank=True, choices=[('member', 'Member'), ('api', 'Api'), ('external', 'External')], max_length=8)),
                ('merchant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.merchant')),
                ('released_actor', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='Settlement',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=functools.partial(gateway.core.ids.new_id, *('stl',), **{}), max_length=40, unique=True)),
                ('mode', models.CharField(choices=[('live', 'Live'), ('test', 'Test')], max_length=4)),
                ('purpose', models.CharField(choices=[('checkout', 'Checkout'), ('x402', 'X402')], max_length=8)),
                ('chain', models.CharField(max_length=16)),
                ('token', models.CharField(max_length=12)),
                ('to', models.CharField(max_length=80)),
                ('units', models.DecimalField(decimal_places=0, max_digits=78)),
                ('units_moved', models.DecimalField(decimal_places=0, default=0, max_digits=78)),
                ('status', models.CharField(choices=[('pending', 'Pending'), ('sent', 'Sent'), ('settled', 'Settled'), ('failed', 'Failed')], default='pending', max_length=8)),
                ('sender', models.CharField(choices=[('gateway', 'Gateway'), ('wallet', 'Wallet'), ('external', 'External'), ('direct', 'Direct')], default='gateway', max_length=8)),
                ('is_scheduled', models.BooleanField(default=False)),
                ('batch', models.CharField(blank=True, max_length=40)),
                ('tx_hash', models.CharField(blank=True, max_length=100)),
                ('error', models.CharField(blank=True, max_length=200)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('settled_at', models.DateTimeField(null=True)),
                ('merchant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='settlements', to='accounts.merchant')),
                ('transaction', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='settlements', to='settlements.gastransaction')),
            ],
        ),
        migrations.CreateModel(
            name='SettledOutflow',
            fields=[
                ('outflow', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='settled', serialize=False, to='wallets.depositoutflow')),
                ('settlement', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='outflows', to='settlements.settlement')),
            ],
        ),
        migrations.CreateModel(
            name='SettlementItem',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('token', models.CharField(max_length=12)),
                ('chain', models.CharField(max_length=16)),
                ('units', models.DecimalField(decimal_places=0, max_digits=78)),
                ('units_moved', models.DecimalField(decimal_places=0, max_digits=78, null=True)),
                ('ended_at', models.DateTimeField(null=True)),
                ('deposit', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='settlement_items', to='wallets.depositaddress')),
                ('settlement', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='items', to='settlements.settlement')),
            ],
        ),
        migrations.CreateModel(
            name='SettlementSettings',
            fields=[
                ('merchant', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='settlement_settings', serialize=False, to='accounts.merchant')),
                ('minimum', models.DecimalField(decimal_places=2, default=10, max_digits=12)),
                ('every_hours', models.PositiveSmallIntegerField(default=24)),
            ],
            options={
                'verbose_name_plural': 'settlement settings',
                'constraints': [models.CheckConstraint(condition=models.Q(('minimum__gte', 0)), name='settlement_minimum_not_negative')],
            },
        ),
        migrations.CreateModel(
            name='TroubledForwarder',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('chain', models.CharField(max_length=16)),
                ('token', models.CharField(max_length=12)),
                ('failures', models.PositiveSmallIntegerField()),
                ('failed_at', models.DateTimeField()),
                ('retry_at', models.DateTimeField()),
                ('deposit', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='wallets.depositaddress')),
            ],
        ),
        migrations.CreateModel(
            name='GasSpan',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('begins_at', models.DateTimeField()),
                ('wei', models.DecimalField(decimal_places=0, max_digits=78)),
                ('is_sum', models.BooleanField(db_default=False, default=False)),
                ('account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='spans', to='settlements.gasaccount')),
            ],
            options={
                'indexes': [models.Index(fields=['account', 'begins_at'], name='gas_span_read'), models.Index(condition=models.Q(('is_sum', False)), fields=['id'], name='gas_span_new')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('is_sum', True)), fields=('account', 'begins_at'), name='gas_span_once')],
            },
        ),
        migrations.AddIndex(
            model_name='gastransaction',
            index=models.Index(condition=models.Q(('state__in', ['intended', 'sent'])), fields=['account', 'nonce'], name='gas_transaction_open'),
        ),
        migrations.AddIndex(
            model_name='gastransaction',
            index=models.Index(fields=['account', 'created_at'], name='gas_transaction_day'),
        ),
        migrations.AddConstraint(
            model_name='gastransaction',
            constraint=models.UniqueConstraint(fields=('account', 'nonce'), name='gas_nonce_used_once'),
        ),
        migrations.AddConstraint(
            model_name='gastransaction',
            constraint=models.UniqueConstraint(condition=models.Q(('state', 'dropped'), _negated=True), fields=('purpose', 'reference'), name='gas_transaction_once_per_reference'),
        ),
        migrations.AddIndex(
            model_name='gasattempt',
            index=models.Index(condition=models.Q(('raw', b''), _negated=True), fields=['signed_at'], name='gas_attempt_has_raw'),
        ),
        migrations.AddConstraint(
            model_name='gasattempt',
            constraint=models.UniqueConstraint(fields=('transaction', 'number'), name='gas_attempt_once'),
        ),
        migrations.AddIndex(
            model_name='hold',
            index=models.Index(fields=['merchant', 'mode', '-id'], name='hold_list'),
        ),
        migrations.AddConstraint(
            model_name='hold',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('released_at', None), ('released_by', '')), models.Q(('released_at__isnull', False), ('released_by__in', ['member', 'api', 'external'])), _connector='OR'), name='hold_released_by_somebody'),
        ),
        migrations.AddIndex(
            model_name='settlement',
            index=models.Index(fields=['merchant', 'mode', '-id'], name='settlement_list'),
        ),
        migrations.AddIndex(
            model_name='settlement',
            index=models.Index(condition=models.Q(('status__in', ['pending', 'sent'])), fields=['chain', 'id'], name='settlement_open'),
        ),
        migrations.AddConstraint(
            model_name='settlement',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ['pending', 'sent', 'settled', 'failed'])), name='settlement_status_known'),
        ),
        migrations.AddConstraint(
            model_name='settlement',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('status', 'settled'), _negated=True), ('settled_at__isnull', False), _connector='OR'), name='settlement_settled_has_time'),
        ),
        migrations.AddIndex(
            model_name='settlementitem',
            index=models.Index(fields=['deposit', 'ended_at'], name='settlement_item_by_forwarder'),
        ),
        migrations.AddConstraint(
            model_name='settlementitem',
            constraint=models.UniqueConstraint(fields=('settlement', 'deposit'), name='settlement_item_once'),
        ),
        migrations.AddConstraint(
            model_name='settlementitem',
            constraint=models.UniqueConstraint(condition=models.Q(('ended_at', None)), fields=('deposit', 'chain', 'token'), name='forwarder_in_one_open_settlement'),
        ),
        migrations.AddConstraint(
            model_name='troubledforwarder',
            constraint=models.UniqueConstraint(fields=('deposit', 'chain', 'token'), name='troubled_forwarder_once'),
        ),
        migrations.RunSQL((Path(__file__).parents[1] / 'triggers.sql').read_text(), migrations.RunSQL.noop),
    ]
