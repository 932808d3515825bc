import django.db.models.deletion
import django.utils.timezone
import functools
import gateway.core.ids
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0001_initial'),
        ('settlements', '0001_initial'),
        ('wallets', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='MachineSettings',
            fields=[
                ('merchant', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='machine_settings', serialize=False, to='accounts.merchant')),
                ('requires_signature', models.BooleanField(default=False)),
            ],
        ),
        migrations.CreateModel(
            name='X402Payment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=functools.partial(gateway.core.ids.new_id, *('x4p',), **{}), max_length=40, unique=True)),
                ('mode', models.CharField(choices=[('live', 'Live'), ('test', 'Test')], max_length=4)),
                ('protocol', models.CharField(choices=[('hash', 'Hash'), ('exact', 'Exact')], max_length=5)),
                ('chain', models.CharField(max_length=16)),
                ('tx_hash', models.CharField(max_length=100)),
                ('position', models.PositiveIntegerField()),
                ('token', models.CharField(max_length=12)),
                ('units', models.DecimalField(decimal_places=0, max_digits=78)),
                ('required_units', models.DecimalField(decimal_places=0, max_digits=78)),
                ('payer', models.CharField(max_length=80)),
                ('pay_to', models.CharField(max_length=80)),
                ('is_signed', models.BooleanField(default=False)),
                ('resource', models.CharField(blank=True, max_length=2048)),
                ('status', models.CharField(choices=[('verified', 'Verified'), ('settled', 'Settled'), ('reversed', 'Reversed')], default='verified', max_length=8)),
                ('block_height', models.BigIntegerField(null=True)),
                ('block_time', models.DateTimeField(null=True)),
                ('verified_at', models.DateTimeField()),
                ('final_at', models.DateTimeField(null=True)),
                ('settled_at', models.DateTimeField(null=True)),
                ('reversed_at', models.DateTimeField(null=True)),
                ('merchant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='x402_payments', to='accounts.merchant')),
                ('transfer', models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='x402_payment', to='wallets.transfer')),
            ],
            options={
                'verbose_name': 'x402 payment',
                'db_table': 'x402_payment',
            },
        ),
        migrations.CreateModel(
            name='Authorization',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('mode', models.CharField(choices=[('live', 'Live'), ('test', 'Test')], max_length=4)),
                ('chain', models.CharField(max_length=16)),
                ('token', models.CharField(max_length=12)),
                ('payer', models.CharField(max_length=80)),
                ('nonce', models.CharField(max_length=100)),
                ('pay_to', models.CharField(max_length=80)),
                ('units', models.DecimalField(decimal_places=0, max_digits=78)),
                ('resource', models.CharField(blank=True, max_length=2048)),
                ('state', models.CharField(choices=[('taken', 'Taken'), ('sent', 'Sent'), ('settled', 'Settled'), ('failed', 'Failed')], default='taken', max_length=7)),
                ('taken_until', models.DateTimeField(null=True)),
                ('tx_hash', models.CharField(blank=True, max_length=100)),
                ('signed', models.BinaryField(null=True)),
                ('network_fee', models.BigIntegerField(null=True)),
                ('pending', models.JSONField(null=True)),
                ('answer', models.JSONField(null=True)),
                ('served_at', models.DateTimeField(null=True)),
                ('served_key', models.CharField(blank=True, max_length=255)),
                ('created_at', models.DateTimeField()),
                ('merchant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.merchant')),
                ('transaction', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='settlements.gastransaction')),
                ('payment', models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='authorization', to='x402.x402payment')),
            ],
        ),
        migrations.CreateModel(
            name='Forwarder',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('destination', models.BinaryField(max_length=20)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('deposit', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='wallets.depositaddress')),
                ('merchant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.merchant')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('merchant', 'destination'), name='x402_forwarder_once')],
            },
        ),
        migrations.CreateModel(
            name='KeptAnswer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('mode', models.CharField(choices=[('live', 'Live'), ('test', 'Test')], max_length=4)),
                ('key', models.CharField(max_length=255)),
                ('digest', models.BinaryField(max_length=32)),
                ('answer', models.JSONField()),
                ('created_at', models.DateTimeField()),
                ('merchant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.merchant')),
            ],
            options={
                'indexes': [models.Index(fields=['created_at'], name='x402_answer_by_time')],
                'constraints': [models.UniqueConstraint(fields=('merchant', 'mode', 'key'), name='x402_answer_once')],
            },
        ),
        migrations.CreateModel(
            name='Sighting',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('chain', models.CharField(max_length=16)),
                ('tx_hash', models.CharField(max_length=100)),
                ('seen_at', models.DateTimeField()),
                ('merchant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.merchant')),
            ],
            options={
                'indexes': [models.Index(fields=['seen_at'], name='x402_sighting_by_time')],
                'constraints': [models.UniqueConstraint(fields=('merchant', 'chain', 'tx_hash'), name='x402_sighting_once')],
            },
        ),
        migrations.AddIndex(
            model_name='x402payment',
            index=models.Index(fields=['merchant', 'mode', '-id'], name='x402_payment_list'),
        ),
        migrations.AddIndex(
            model_name='x402payment',
            index=models.Index(fields=['merchant', 'mode', 'verified_at'], name='x402_payment_by_day'),
        ),
        migrations.AddIndex(
            model_name='x402payment',
            index=models.Index(condition=models.Q(('final_at', None), ('mode', 'live'), ('reversed_at', None)), fields=['chain', 'id'], name='x402_payment_unfinal'),
        ),
        migrations.AddIndex(
            model_name='x402payment',
            index=models.Index(condition=models.Q(('final_at__isnull', False), ('mode', 'live'), ('status', 'verified')), fields=['id'], name='x402_payment_unsettled'),
        ),
        migrations.AddConstraint(
            model_name='x402payment',
            constraint=models.UniqueConstraint(condition=models.Q(('mode', 'live')), fields=('chain', 'tx_hash', 'position'), name='x402_proof_used_once'),
        ),
        migrations.AddConstraint(
            model_name='x402payment',
            constraint=models.UniqueConstraint(condition=models.Q(('mode', 'test')), fields=('merchant', 'chain', 'tx_hash', 'position'), name='x402_test_proof_used_once'),
        ),
        migrations.AddConstraint(
            model_name='x402payment',
            constraint=models.CheckConstraint(condition=models.Q(('units__gt', 0), ('units__gte', models.F('required_units'))), name='x402_payment_is_enough'),
        ),
        migrations.AddConstraint(
            model_name='x402payment',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ['verified', 'settled', 'reversed'])), name='x402_payment_status_known'),
        ),
        migrations.AddIndex(
            model_name='authorization',
            index=models.Index(fields=['tx_hash'], name='x402_authorization_by_tx'),
        ),
        migrations.AddIndex(
            model_name='authorization',
            index=models.Index(condition=models.Q(('network_fee__isnull', False)), fields=['chain', 'created_at'], include=('merchant', 'network_fee'), name='x402_authorization_spending'),
        ),
        migrations.AddIndex(
            model_name='authorization',
            index=models.Index(condition=models.Q(('state__in', ['taken', 'sent'])), fields=['chain', 'pay_to'], name='x402_authorization_open'),
        ),
        migrations.AddIndex(
            model_name='authorization',
            index=models.Index(condition=models.Q(('payment', None), ('state', 'failed'), ('transaction__isnull', False)), fields=['created_at'], name='x402_authorization_failed'),
        ),
        migrations.AddConstraint(
            model_name='authorization',
            constraint=models.UniqueConstraint(condition=models.Q(('mode', 'live')), fields=('chain', 'token', 'payer', 'nonce'), name='x402_authorization_once'),
        ),
        migrations.AddConstraint(
            model_name='authorization',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['taken', 'sent', 'settled', 'failed'])), name='x402_authorization_state_known'),
        ),
    ]
