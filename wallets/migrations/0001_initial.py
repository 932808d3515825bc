from pathlib import Path

import datetime
import django.contrib.postgres.fields
import django.contrib.postgres.functions
import django.db.models.deletion
import django.db.models.functions.comparison
import django.db.models.functions.text
import django.utils.timezone
import functools
import gateway.core.ids
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='ChainCursor',
            fields=[
                ('chain', models.CharField(max_length=16, primary_key=True, serialize=False)),
                ('genesis_hash', models.CharField(blank=True, max_length=80)),
                ('height', models.BigIntegerField(null=True)),
                ('block_hash', models.CharField(blank=True, max_length=80)),
                ('first_height', models.BigIntegerField(null=True)),
                ('window', models.PositiveIntegerField(default=10)),
                ('owner', models.CharField(blank=True, max_length=80)),
                ('fence', models.BigIntegerField(default=0)),
                ('lease_until', models.DateTimeField(default=datetime.datetime(1970, 1, 1, 0, 0, tzinfo=datetime.timezone.utc))),
                ('head', models.BigIntegerField(null=True)),
                ('head_at', models.DateTimeField(null=True)),
                ('head_time', models.DateTimeField(null=True)),
                ('due_at', models.DateTimeField(null=True)),
                ('read_through_at', models.DateTimeField(null=True)),
                ('reconciled_at', models.DateTimeField(null=True)),
                ('disagreeing_since', models.DateTimeField(null=True)),
                ('accounts_read_at', models.DateTimeField(null=True)),
                ('requests', models.BigIntegerField(default=0)),
                ('requests_minute', models.PositiveIntegerField(default=0)),
                ('reads', models.BigIntegerField(default=0)),
                ('factory_ok', models.BooleanField(null=True)),
                ('halted_reason', models.CharField(blank=True, max_length=200)),
                ('last_error', models.CharField(blank=True, max_length=200)),
                ('failing_since', models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='Transfer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('chain', models.CharField(max_length=16)),
                ('tx_hash', models.CharField(max_length=100)),
                ('position', models.PositiveIntegerField()),
                ('token', models.CharField(max_length=12)),
                ('units', models.DecimalField(decimal_places=0, max_digits=78)),
                ('block_height', models.BigIntegerField()),
                ('block_hash', models.CharField(max_length=80)),
                ('block_time', models.DateTimeField()),
                ('state', models.CharField(choices=[('detected', 'Detected'), ('confirmed', 'Confirmed'), ('orphaned', 'Orphaned')], default='detected', max_length=9)),
                ('detected_at', models.DateTimeField()),
                ('confirmed_at', models.DateTimeField(null=True)),
                ('orphaned_at', models.DateTimeField(null=True)),
                ('public_id', models.CharField(db_default=django.db.models.functions.text.Concat(models.Value('trf_', models.TextField()), django.db.models.functions.text.Replace(django.db.models.functions.comparison.Cast(django.contrib.postgres.functions.RandomUUID(), models.TextField()), models.Value('-', models.TextField()), models.Value('', models.TextField()), output_field=models.TextField()), output_field=models.TextField()), editable=False, max_length=40)),
                ('token_address', models.CharField(max_length=80)),
                ('sender', models.CharField(max_length=80)),
                ('recipient', models.CharField(max_length=80)),
                ('labels', models.JSONField(default=list)),
                ('purpose', models.CharField(choices=[('checkout', 'Checkout'), ('x402', 'X402')], db_default='checkout', default='checkout', max_length=8)),
                ('mode', models.CharField(choices=[('live', 'Live'), ('test', 'Test')], max_length=4)),
                ('witnessed_at', models.DateTimeField(null=True)),
                ('decided_at', models.DateTimeField(null=True)),
                ('queued_at', models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='AccountCursor',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('chain', models.CharField(max_length=16)),
                ('key', models.BinaryField(max_length=40)),
                ('address', models.CharField(max_length=80)),
                ('height', models.BigIntegerField(null=True)),
                ('height_time', models.DateTimeField(null=True)),
                ('read_at', models.DateTimeField(null=True)),
                ('last_error', models.CharField(blank=True, max_length=200)),
                ('read_through_at', models.DateTimeField(null=True)),
            ],
            options={
                'indexes': [models.Index(fields=['chain', 'read_at'], name='account_turn'), models.Index(fields=['chain', 'address'], name='account_by_address')],
                'constraints': [models.UniqueConstraint(fields=('chain', 'key'), name='one_cursor_per_account')],
            },
        ),
        migrations.CreateModel(
            name='Block',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('chain', models.CharField(max_length=16)),
                ('height', models.BigIntegerField()),
                ('hash', models.CharField(max_length=80)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('chain', 'height'), name='one_block_per_height')],
            },
        ),
        migrations.CreateModel(
            name='DepositAddress',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.BinaryField(max_length=20, unique=True)),
                ('destination', models.BinaryField(max_length=20)),
                ('nonce', models.BinaryField(max_length=32)),
                ('mode', models.CharField(choices=[('live', 'Live'), ('test', 'Test')], max_length=4)),
                ('purpose', models.CharField(choices=[('checkout', 'Checkout'), ('x402', 'X402')], db_default='checkout', default='checkout', max_length=8)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('watched_until', models.DateTimeField()),
                ('merchant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.merchant')),
            ],
        ),
        migrations.CreateModel(
            name='DepositBalance',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('purpose', models.CharField(choices=[('checkout', 'Checkout'), ('x402', 'X402')], max_length=8)),
                ('chain', models.CharField(max_length=16)),
                ('token', models.CharField(max_length=12)),
                ('received', models.DecimalField(decimal_places=0, default=0, max_digits=96)),
                ('flushed', models.DecimalField(decimal_places=0, default=0, max_digits=96)),
                ('deposit', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='balances', to='wallets.depositaddress')),
                ('merchant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.merchant')),
            ],
        ),
        migrations.CreateModel(
            name='DepositOutflow',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('chain', models.CharField(max_length=16)),
                ('tx_hash', models.CharField(max_length=100)),
                ('position', models.PositiveIntegerField()),
                ('token', models.CharField(max_length=12)),
                ('units', models.DecimalField(decimal_places=0, max_digits=78)),
                ('block_height', models.BigIntegerField()),
                ('block_hash', models.CharField(max_length=80)),
                ('block_time', models.DateTimeField()),
                ('state', models.CharField(choices=[('detected', 'Detected'), ('confirmed', 'Confirmed'), ('orphaned', 'Orphaned')], default='detected', max_length=9)),
                ('detected_at', models.DateTimeField()),
                ('confirmed_at', models.DateTimeField(null=True)),
                ('orphaned_at', models.DateTimeField(null=True)),
                ('recipient', models.CharField(max_length=80)),
                ('deposit', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='outflows', to='wallets.depositaddress')),
            ],
        ),
        migrations.CreateModel(
            name='DepositTotal',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('purpose', models.CharField(choices=[('checkout', 'Checkout'), ('x402', 'X402')], max_length=8)),
                ('chain', models.CharField(max_length=16)),
                ('token', models.CharField(max_length=12)),
                ('received', models.DecimalField(decimal_places=0, default=0, max_digits=96)),
                ('flushed', models.DecimalField(decimal_places=0, default=0, max_digits=96)),
                ('merchant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.merchant')),
            ],
        ),
        migrations.CreateModel(
            name='ReceivingWallet',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('chain', models.CharField(max_length=16)),
                ('purpose', models.CharField(choices=[('checkout', 'Checkout'), ('x402', 'X402')], db_default='checkout', default='checkout', max_length=8)),
                ('of_one_merchant', models.BooleanField(db_default=True, default=True)),
                ('address', models.CharField(max_length=80)),
                ('key', models.BinaryField(max_length=40)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('expected_until', models.DateTimeField(null=True)),
                ('retired_at', models.DateTimeField(null=True)),
                ('taken_over_at', models.DateTimeField(null=True)),
                ('released_at', models.DateTimeField(null=True)),
                ('merchant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='receiving_wallets', to='accounts.merchant')),
            ],
        ),
        migrations.CreateModel(
            name='SourceDifference',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('chain', models.CharField(max_length=16)),
                ('kind', models.CharField(choices=[('missed', 'Missed'), ('unknown', 'Unknown')], max_length=8)),
                ('tx_hash', models.CharField(max_length=100)),
                ('position', models.PositiveIntegerField()),
                ('recipient', models.CharField(max_length=80)),
                ('token', models.CharField(max_length=12)),
                ('units', models.DecimalField(decimal_places=0, max_digits=78)),
                ('block_height', models.BigIntegerField()),
                ('source', models.CharField(max_length=120)),
                ('found_at', models.DateTimeField()),
                ('closed_at', models.DateTimeField(null=True)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('chain', 'tx_hash', 'position', 'recipient', 'token', 'kind'), name='source_difference_told_once')],
            },
        ),
        migrations.CreateModel(
            name='TransferClaim',
            fields=[
                ('transfer', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='claim', serialize=False, to='wallets.transfer')),
                ('kind', models.CharField(choices=[('checkout', 'Checkout'), ('x402', 'X402')], max_length=8)),
                ('claimed_at', models.DateTimeField()),
            ],
        ),
        migrations.AddField(
            model_name='transfer',
            name='deposit',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='transfers', to='wallets.depositaddress'),
        ),
        migrations.AddField(
            model_name='transfer',
            name='merchant',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.merchant'),
        ),
        migrations.AddField(
            model_name='transfer',
            name='wallet',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='transfers', to='wallets.receivingwallet'),
        ),
        migrations.CreateModel(
            name='TransferDay',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('mode', models.CharField(choices=[('live', 'Live'), ('test', 'Test')], max_length=4)),
                ('day', models.DateField()),
                ('chain', models.CharField(max_length=16)),
                ('token', models.CharField(max_length=12)),
                ('state', models.CharField(choices=[('detected', 'Detected'), ('confirmed', 'Confirmed'), ('orphaned', 'Orphaned')], max_length=9)),
                ('claim', models.CharField(blank=True, max_length=8)),
                ('count', models.BigIntegerField(default=0)),
                ('units', models.DecimalField(decimal_places=0, default=0, max_digits=96)),
                ('is_sum', models.BooleanField(db_default=False, default=False)),
                ('merchant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.merchant')),
            ],
        ),
        migrations.CreateModel(
            name='WalletProof',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('chain', models.CharField(max_length=16)),
                ('purpose', models.CharField(choices=[('checkout', 'Checkout'), ('x402', 'X402')], db_default='checkout', default='checkout', max_length=8)),
                ('address', models.CharField(max_length=80)),
                ('nonce', models.CharField(max_length=32, unique=True)),
                ('requested_at', models.DateTimeField()),
                ('expires_at', models.DateTimeField()),
                ('used_at', models.DateTimeField(null=True)),
                ('signature', models.CharField(blank=True, max_length=4000)),
                ('public_key', models.CharField(blank=True, max_length=66)),
                ('merchant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='wallet_proofs', to='accounts.merchant')),
                ('requested_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='WalletChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('chain', models.CharField(max_length=16)),
                ('purpose', models.CharField(choices=[('checkout', 'Checkout'), ('x402', 'X402')], db_default='checkout', default='checkout', max_length=8)),
                ('of_one_merchant', models.BooleanField(db_default=True, default=True)),
                ('address', models.CharField(max_length=80)),
                ('requested_at', models.DateTimeField()),
                ('effective_at', models.DateTimeField()),
                ('applied_at', models.DateTimeField(null=True)),
                ('cancelled_at', models.DateTimeField(null=True)),
                ('failed_at', models.DateTimeField(null=True)),
                ('failure', models.CharField(blank=True, max_length=200)),
                ('merchant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='wallet_changes', to='accounts.merchant')),
                ('requested_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('proof', models.OneToOneField(null=True, on_delete=django.db.models.deletion.RESTRICT, related_name='change', to='wallets.walletproof')),
            ],
        ),
        migrations.AddField(
            model_name='receivingwallet',
            name='proof',
            field=models.OneToOneField(null=True, on_delete=django.db.models.deletion.RESTRICT, related_name='wallet', to='wallets.walletproof'),
        ),
        migrations.CreateModel(
            name='WatchedWallet',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=functools.partial(gateway.core.ids.new_id, *('wal',), **{}), max_length=40, unique=True)),
                ('mode', models.CharField(choices=[('live', 'Live'), ('test', 'Test')], max_length=4)),
                ('chain', models.CharField(max_length=16)),
                ('address', models.CharField(max_length=80)),
                ('key', models.BinaryField(max_length=40)),
                ('label', models.CharField(blank=True, max_length=80)),
                ('tags', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=40), blank=True, default=list, size=None)),
                ('status', models.CharField(choices=[('importing', 'Importing'), ('active', 'Active')], default='importing', max_length=9)),
                ('history_from', models.BigIntegerField(null=True)),
                ('history_height', models.BigIntegerField(null=True)),
                ('history_until', models.BigIntegerField(null=True)),
                ('history_error', models.CharField(blank=True, max_length=200)),
                ('history_read_at', models.DateTimeField(null=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('removed_at', models.DateTimeField(null=True)),
                ('merchant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='watched_wallets', to='accounts.merchant')),
            ],
        ),
        migrations.CreateModel(
            name='WatchedMovement',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('chain', models.CharField(max_length=16)),
                ('tx_hash', models.CharField(max_length=100)),
                ('position', models.PositiveIntegerField()),
                ('token', models.CharField(max_length=12)),
                ('units', models.DecimalField(decimal_places=0, max_digits=78)),
                ('block_height', models.BigIntegerField()),
                ('block_hash', models.CharField(max_length=80)),
                ('block_time', models.DateTimeField()),
                ('state', models.CharField(choices=[('detected', 'Detected'), ('confirmed', 'Confirmed'), ('orphaned', 'Orphaned')], default='detected', max_length=9)),
                ('detected_at', models.DateTimeField()),
                ('confirmed_at', models.DateTimeField(null=True)),
                ('orphaned_at', models.DateTimeField(null=True)),
                ('public_id', models.CharField(db_default=django.db.models.functions.text.Concat(models.Value('mov_', models.TextField()), django.db.models.functions.text.Replace(django.db.models.functions.comparison.Cast(django.contrib.postgres.functions.RandomUUID(), models.TextField()), models.Value('-', models.TextField()), models.Value('', models.TextField()), output_field=models.TextField()), output_field=models.TextField()), editable=False, max_length=40)),
                ('mode', models.CharField(choices=[('live', 'Live'), ('test', 'Test')], max_length=4)),
                ('direction', models.CharField(choices=[('in', 'In'), ('out', 'Out')], max_length=3)),
                ('token_address', models.CharField(max_length=80)),
                ('counterparty', models.CharField(max_length=80)),
                ('is_payment', models.BooleanField(default=False)),
                ('merchant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.merchant')),
                ('wallet', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='movements', to='wallets.watchedwallet')),
            ],
        ),
        migrations.CreateModel(
            name='WatchedDay',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField()),
                ('token', models.CharField(max_length=12)),
                ('direction', models.CharField(choices=[('in', 'In'), ('out', 'Out')], max_length=3)),
                ('state', models.CharField(choices=[('detected', 'Detected'), ('confirmed', 'Confirmed'), ('orphaned', 'Orphaned')], max_length=9)),
                ('is_payment', models.BooleanField()),
                ('count', models.BigIntegerField(default=0)),
                ('units', models.DecimalField(decimal_places=0, default=0, max_digits=96)),
                ('is_sum', models.BooleanField(db_default=False, default=False)),
                ('wallet', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='days', to='wallets.watchedwallet')),
            ],
        ),
        migrations.CreateModel(
            name='WatchedBalance',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('token', models.CharField(max_length=12)),
                ('units', models.DecimalField(decimal_places=0, max_digits=78)),
                ('height', models.BigIntegerField()),
                ('read_at', models.DateTimeField()),
                ('wallet', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='balances', to='wallets.watchedwallet')),
            ],
        ),
        migrations.AddIndex(
            model_name='depositaddress',
            index=models.Index(fields=['mode', 'watched_until'], name='deposit_address_watched'),
        ),
        migrations.AddConstraint(
            model_name='depositaddress',
            constraint=models.UniqueConstraint(fields=('nonce', 'destination'), name='deposit_address_once_per_salt'),
        ),
        migrations.AddIndex(
            model_name='depositbalance',
            index=models.Index(condition=models.Q(('received__gt', models.F('flushed'))), fields=['merchant', 'purpose', 'chain', 'token'], name='deposit_balance_waiting'),
        ),
        migrations.AddIndex(
            model_name='depositbalance',
            index=models.Index(condition=models.Q(('received__gt', models.F('flushed'))), fields=['chain', 'token', 'id'], name='deposit_balance_to_sweep'),
        ),
        migrations.AddConstraint(
            model_name='depositbalance',
            constraint=models.UniqueConstraint(fields=('deposit', 'chain', 'token'), name='deposit_balance_once'),
        ),
        migrations.AddIndex(
            model_name='depositoutflow',
            index=models.Index(condition=models.Q(('state', 'detected')), fields=['chain', 'block_height'], name='deposit_outflow_unconfirmed'),
        ),
        migrations.AddIndex(
            model_name='depositoutflow',
            index=models.Index(fields=['chain', 'block_height'], name='deposit_outflow_by_block'),
        ),
        migrations.AddConstraint(
            model_name='depositoutflow',
            constraint=models.UniqueConstraint(fields=('chain', 'tx_hash', 'position', 'deposit', 'token'), name='deposit_outflow_once'),
        ),
        migrations.AddConstraint(
            model_name='depositoutflow',
            constraint=models.CheckConstraint(condition=models.Q(('units__gt', 0)), name='deposit_outflow_units_positive'),
        ),
        migrations.AddConstraint(
            model_name='depositoutflow',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['detected', 'confirmed', 'orphaned'])), name='deposit_outflow_state_known'),
        ),
        migrations.AddConstraint(
            model_name='deposittotal',
            constraint=models.UniqueConstraint(fields=('merchant', 'purpose', 'chain', 'token'), name='deposit_total_once'),
        ),
        migrations.AddIndex(
            model_name='transfer',
            index=models.Index(condition=models.Q(('queued_at__isnull', False)), fields=['purpose', 'queued_at', 'id'], name='transfer_queue'),
        ),
        migrations.AddIndex(
            model_name='transfer',
            index=models.Index(condition=models.Q(('state', 'detected')), fields=['chain', 'block_height'], name='transfer_unconfirmed'),
        ),
        migrations.AddIndex(
            model_name='transfer',
            index=models.Index(fields=['chain', 'block_height'], name='transfer_by_block'),
        ),
        migrations.AddIndex(
            model_name='transfer',
            index=models.Index(fields=['merchant', 'mode', '-block_time', '-id'], name='transfer_report'),
        ),
        migrations.AddIndex(
            model_name='transfer',
            index=models.Index(fields=['merchant', 'mode', 'sender', '-id'], name='transfer_by_sender'),
        ),
        migrations.AddConstraint(
            model_name='transfer',
            constraint=models.UniqueConstraint(fields=('chain', 'tx_hash', 'position', 'recipient', 'token'), name='transfer_recorded_once'),
        ),
        migrations.AddConstraint(
            model_name='transfer',
            constraint=models.UniqueConstraint(fields=('public_id',), name='transfer_public_id'),
        ),
        migrations.AddConstraint(
            model_name='transfer',
            constraint=models.CheckConstraint(condition=models.Q(('units__gt', 0)), name='transfer_units_positive'),
        ),
        migrations.AddConstraint(
            model_name='transfer',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('deposit', None), ('wallet__isnull', False)), models.Q(('deposit__isnull', False), ('wallet', None)), _connector='OR'), name='transfer_has_one_place'),
        ),
        migrations.AddConstraint(
            model_name='transfer',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['detected', 'confirmed', 'orphaned'])), name='transfer_state_known'),
        ),
        migrations.AddConstraint(
            model_name='transfer',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', 'confirmed'), _negated=True), ('confirmed_at__isnull', False), _connector='OR'), name='transfer_confirmed_has_time'),
        ),
        migrations.AddIndex(
            model_name='transferday',
            index=models.Index(fields=['merchant', 'mode', 'day'], name='transfer_day_report'),
        ),
        migrations.AddIndex(
            model_name='transferday',
            index=models.Index(condition=models.Q(('is_sum', False)), fields=['id'], name='transfer_day_change'),
        ),
        migrations.AddConstraint(
            model_name='transferday',
            constraint=models.UniqueConstraint(condition=models.Q(('is_sum', True)), fields=('merchant', 'mode', 'day', 'chain', 'token', 'state', 'claim'), name='transfer_day_once'),
        ),
        migrations.AddIndex(
            model_name='walletchange',
            index=models.Index(condition=models.Q(('applied_at', None), ('cancelled_at', None), ('failed_at', None)), fields=['effective_at'], name='wallet_change_due'),
        ),
        migrations.AddConstraint(
            model_name='walletchange',
            constraint=models.UniqueConstraint(condition=models.Q(('applied_at', None), ('cancelled_at', None), ('failed_at', None)), fields=('merchant', 'chain', 'purpose'), name='wallet_change_open_once'),
        ),
        migrations.AddConstraint(
            model_name='walletchange',
            constraint=models.UniqueConstraint(condition=models.Q(('applied_at', None), ('cancelled_at', None), ('failed_at', None), ('of_one_merchant', True), ('proof__isnull', False)), fields=('chain', 'address'), name='proven_wallet_awaited_by_one'),
        ),
        migrations.AddConstraint(
            model_name='walletchange',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('applied_at', None), ('cancelled_at', None)), models.Q(('applied_at', None), ('failed_at', None)), models.Q(('cancelled_at', None), ('failed_at', None)), _connector='OR'), name='wallet_change_ends_once'),
        ),
        migrations.AddIndex(
            model_name='receivingwallet',
            index=models.Index(fields=['chain', 'key'], name='receiving_wallet_by_key'),
        ),
        migrations.AddIndex(
            model_name='receivingwallet',
            index=models.Index(condition=models.Q(('expected_until__isnull', False)), fields=['chain', 'expected_until'], name='receiving_wallet_expected'),
        ),
        migrations.AddConstraint(
            model_name='receivingwallet',
            constraint=models.UniqueConstraint(condition=models.Q(('retired_at', None)), fields=('merchant', 'chain', 'purpose'), name='one_receiving_wallet_per_chain'),
        ),
        migrations.AddConstraint(
            model_name='receivingwallet',
            constraint=models.CheckConstraint(condition=models.Q(('purpose__in', ['checkout', 'x402'])), name='receiving_wallet_purpose_known'),
        ),
        migrations.AddConstraint(
            model_name='receivingwallet',
            constraint=models.UniqueConstraint(condition=models.Q(('of_one_merchant', True), ('retired_at', None)), fields=('chain', 'address'), name='receiving_wallet_of_one_merchant'),
        ),
        migrations.AddIndex(
            model_name='watchedwallet',
            index=models.Index(condition=models.Q(('mode', 'live'), ('removed_at', None)), fields=['chain', 'key'], name='watched_wallet_by_key'),
        ),
        migrations.AddIndex(
            model_name='watchedwallet',
            index=models.Index(condition=models.Q(('mode', 'live'), ('removed_at', None), ('status', 'importing')), fields=['chain', 'history_read_at'], name='watched_wallet_importing'),
        ),
        migrations.AddConstraint(
            model_name='watchedwallet',
            constraint=models.UniqueConstraint(condition=models.Q(('removed_at', None)), fields=('merchant', 'mode', 'chain', 'key'), name='watched_wallet_once'),
        ),
        migrations.AddConstraint(
            model_name='watchedwallet',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ['importing', 'active'])), name='watched_wallet_status_known'),
        ),
        migrations.AddIndex(
            model_name='watchedmovement',
            index=models.Index(fields=['wallet', '-block_time', '-id'], name='watched_movement_list'),
        ),
        migrations.AddIndex(
            model_name='watchedmovement',
            index=models.Index(fields=['merchant', 'mode', '-block_time', '-id'], name='watched_movement_report'),
        ),
        migrations.AddIndex(
            model_name='watchedmovement',
            index=models.Index(condition=models.Q(('state', 'detected')), fields=['chain', 'block_height'], name='watched_movement_unconfirmed'),
        ),
        migrations.AddIndex(
            model_name='watchedmovement',
            index=models.Index(fields=['chain', 'block_height'], name='watched_movement_by_block'),
        ),
        migrations.AddConstraint(
            model_name='watchedmovement',
            constraint=models.UniqueConstraint(fields=('wallet', 'tx_hash', 'position', 'token', 'direction'), name='watched_movement_once'),
        ),
        migrations.AddConstraint(
            model_name='watchedmovement',
            constraint=models.UniqueConstraint(fields=('public_id',), name='watched_movement_public_id'),
        ),
        migrations.AddConstraint(
            model_name='watchedmovement',
            constraint=models.CheckConstraint(condition=models.Q(('units__gt', 0)), name='watched_movement_units_positive'),
        ),
        migrations.AddConstraint(
            model_name='watchedmovement',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['detected', 'confirmed', 'orphaned'])), name='watched_movement_state_known'),
        ),
        migrations.AddIndex(
            model_name='watchedday',
            index=models.Index(fields=['wallet', 'day'], name='watched_day_report'),
        ),
        migrations.AddIndex(
            model_name='watchedday',
            index=models.Index(condition=models.Q(('is_sum', False)), fields=['id'], name='watched_day_change'),
        ),
        migrations.AddConstraint(
            model_name='watchedday',
            constraint=models.UniqueConstraint(condition=models.Q(('is_sum', True)), fields=('wallet', 'day', 'token', 'direction', 'state', 'is_payment'), name='watched_day_once'),
        ),
        migrations.AddConstraint(
            model_name='watchedbalance',
            constraint=models.UniqueConstraint(fields=('wallet', 'token'), name='watched_balance_once'),
        ),
        migrations.RunSQL((Path(__file__).parents[1] / 'models/triggers.sql').read_text(), migrations.RunSQL.noop),
    ]
