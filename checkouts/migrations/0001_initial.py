from pathlib import Path

import django.db.models.deletion
import django.utils.timezone
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
            name='Checkout',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(max_length=40, unique=True)),
                ('code', models.CharField(default=gateway.core.ids.new_code, max_length=32, unique=True)),
                ('mode', models.CharField(choices=[('live', 'Live'), ('test', 'Test')], max_length=4)),
                ('status', models.CharField(choices=[('pending', 'Pending'), ('processing', 'Processing'), ('underpaid', 'Underpaid'), ('completed', 'Completed'), ('expired', 'Expired')], default='pending', max_length=10)),
                ('exception', models.CharField(blank=True, choices=[('', 'None'), ('underpaid', 'Underpaid'), ('overpaid', 'Overpaid'), ('reversed', 'Reversed')], default='', max_length=9)),
                ('amount', models.DecimalField(decimal_places=2, max_digits=20)),
                ('currency', models.CharField(default='USD', max_length=3)),
                ('description', models.CharField(blank=True, max_length=256)),
                ('metadata', models.TextField(default='{}')),
                ('customer_email', models.CharField(blank=True, max_length=254)),
                ('redirect_url', models.CharField(blank=True, max_length=2048)),
                ('webhook_url', models.CharField(blank=True, max_length=2048)),
                ('again_url', models.CharField(blank=True, db_default='', max_length=2048)),
                ('escrow', models.BooleanField(db_default=False, default=False)),
                ('customer_ref', models.CharField(blank=True, max_length=128)),
                ('product_ref', models.CharField(blank=True, max_length=128)),
                ('order_ref', models.CharField(blank=True, max_length=128)),
                ('creation_ref', models.CharField(max_length=128, null=True)),
                ('offers', models.JSONField()),
                ('deposit_nonce', models.BinaryField(max_length=32, unique=True)),
                ('amount_received', models.DecimalField(decimal_places=6, default=0, max_digits=96)),
                ('underpaid_reported', models.DecimalField(decimal_places=6, default=0, max_digits=96)),
                ('event_count', models.PositiveIntegerField(default=0)),
                ('test_scenario', models.CharField(blank=True, choices=[('completed', 'Completed'), ('underpaid', 'Underpaid'), ('overpaid', 'Overpaid'), ('late', 'Late'), ('expired', 'Expired'), ('reorg', 'Reorg')], max_length=10)),
                ('expires_at', models.DateTimeField()),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('paid_at', models.DateTimeField(null=True)),
                ('cancelled_at', models.DateTimeField(null=True)),
                ('merchant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='checkouts', to='accounts.merchant')),
                ('replaces', models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='replaced_by', to='checkouts.checkout')),
            ],
        ),
        migrations.CreateModel(
            name='BuyerReport',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('mode', models.CharField(choices=[('live', 'Live'), ('test', 'Test')], max_length=4)),
                ('tx_hash', models.CharField(max_length=128)),
                ('chain', models.CharField(blank=True, max_length=16)),
                ('verdict', models.CharField(choices=[('credited', 'Credited'), ('not_final', 'Not Final'), ('waiting', 'Waiting'), ('short', 'Short'), ('late', 'Late'), ('extra', 'Extra'), ('wrong_network', 'Wrong Network'), ('wrong_token', 'Wrong Token'), ('fake_token', 'Fake Token'), ('other_address', 'Other Address'), ('failed', 'Failed'), ('not_found', 'Not Found'), ('unreachable', 'Unreachable')], max_length=20)),
                ('details', models.JSONField(default=dict)),
                ('reported_at', models.DateTimeField()),
                ('looked_at', models.DateTimeField()),
                ('closed_at', models.DateTimeField(null=True)),
                ('merchant', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.merchant')),
                ('checkout', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='buyer_reports', to='checkouts.checkout')),
            ],
        ),
        migrations.CreateModel(
            name='AmountReservation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('mode', models.CharField(choices=[('live', 'Live'), ('test', 'Test')], max_length=4)),
                ('price', models.DecimalField(decimal_places=2, max_digits=20)),
                ('suffix', models.PositiveSmallIntegerField()),
                ('reference', models.BinaryField(max_length=32, unique=True)),
                ('memo', models.CharField(max_length=16, unique=True)),
                ('reserved_at', models.DateTimeField()),
                ('released_at', models.DateTimeField(null=True)),
                ('merchant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.merchant')),
                ('checkout', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='reservations', to='checkouts.checkout')),
            ],
        ),
        migrations.CreateModel(
            name='CheckoutCount',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('mode', models.CharField(choices=[('live', 'Live'), ('test', 'Test')], max_length=4)),
                ('status', models.CharField(choices=[('pending', 'Pending'), ('processing', 'Processing'), ('underpaid', 'Underpaid'), ('completed', 'Completed'), ('expired', 'Expired')], max_length=10)),
                ('value', models.BigIntegerField(default=0)),
                ('is_sum', models.BooleanField(db_default=False, default=False)),
                ('merchant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.merchant')),
            ],
        ),
        migrations.CreateModel(
            name='DailyTotal',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('mode', models.CharField(choices=[('live', 'Live'), ('test', 'Test')], max_length=4)),
                ('day', models.DateField()),
                ('chain', models.CharField(blank=True, max_length=16)),
                ('token', models.CharField(blank=True, max_length=12)),
                ('created', models.BigIntegerField(default=0)),
                ('completed', models.BigIntegerField(default=0)),
                ('expired', models.BigIntegerField(default=0)),
                ('volume', models.DecimalField(decimal_places=2, default=0, max_digits=38)),
                ('first_id', models.BigIntegerField(null=True)),
                ('last_id', models.BigIntegerField(null=True)),
                ('is_sum', models.BooleanField(db_default=False, default=False)),
                ('merchant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.merchant')),
            ],
        ),
        migrations.CreateModel(
            name='InboxItem',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('mode', models.CharField(choices=[('live', 'Live'), ('test', 'Test')], max_length=4)),
                ('reason', models.CharField(choices=[('late', 'Late'), ('late_outage', 'Late Outage'), ('extra', 'Extra'), ('wrong_network', 'Wrong Network'), ('wrong_token', 'Wrong Token'), ('dust', 'Dust'), ('unmatched', 'Unmatched'), ('ambiguous', 'Ambiguous'), ('reversed', 'Reversed'), ('rival', 'Rival')], max_length=13)),
                ('explanation', models.CharField(max_length=300)),
                ('candidates', models.JSONField(default=list)),
                ('status', models.CharField(choices=[('open', 'Open'), ('credited', 'Credited'), ('refunded', 'Refunded'), ('dismissed', 'Dismissed')], default='open', max_length=9)),
                ('created_at', models.DateTimeField()),
                ('resolved_at', models.DateTimeField(null=True)),
                ('checkout', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='inbox_items', to='checkouts.checkout')),
                ('merchant', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.merchant')),
                ('transfer', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='inbox_items', to='wallets.transfer')),
            ],
        ),
        migrations.CreateModel(
            name='InboxDecision',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('act', models.CharField(choices=[('credit', 'Credit'), ('accept_late', 'Accept Late'), ('refunded', 'Refunded'), ('dismiss', 'Dismiss')], max_length=11)),
                ('refund_tx', models.CharField(blank=True, max_length=128)),
                ('decided_at', models.DateTimeField()),
                ('due_at', models.DateTimeField()),
                ('undone_at', models.DateTimeField(null=True)),
                ('done_at', models.DateTimeField(null=True)),
                ('failed_at', models.DateTimeField(null=True)),
                ('failure', models.CharField(blank=True, max_length=200)),
                ('actor', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('checkout', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='checkouts.checkout')),
                ('undone_by', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('item', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='decisions', to='checkouts.inboxitem')),
            ],
        ),
        migrations.CreateModel(
            name='Payment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('reason', models.CharField(max_length=200)),
                ('credited_at', models.DateTimeField()),
                ('checkout', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='payments', to='checkouts.checkout')),
                ('handed_by', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='handed_payments', to='checkouts.checkout')),
                ('transfer', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='payment', to='wallets.transfer')),
            ],
        ),
        migrations.CreateModel(
            name='TestStep',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(max_length=12)),
                ('due_at', models.DateTimeField()),
                ('done_at', models.DateTimeField(null=True)),
                ('checkout', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='test_steps', to='checkouts.checkout')),
            ],
        ),
        migrations.CreateModel(
            name='RefundNote',
            fields=[
                ('checkout', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='refund_note', serialize=False, to='checkouts.checkout')),
                ('tx_hash', models.CharField(max_length=128)),
                ('noted_at', models.DateTimeField()),
                ('author', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='TeamNote',
            fields=[
                ('checkout', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='team_note', serialize=False, to='checkouts.checkout')),
                ('text', models.CharField(max_length=1000)),
                ('written_at', models.DateTimeField()),
                ('author', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.AddIndex(
            model_name='checkout',
            index=models.Index(fields=['merchant', 'mode', '-id'], name='checkout_list'),
        ),
        migrations.AddIndex(
            model_name='checkout',
            index=models.Index(fields=['merchant', 'mode', 'status', '-id'], name='checkout_by_status'),
        ),
        migrations.AddIndex(
            model_name='checkout',
            index=models.Index(condition=models.Q(('status__in', ['pending', 'underpaid'])), fields=['expires_at'], name='checkout_expirable'),
        ),
        migrations.AddIndex(
            model_name='checkout',
            index=models.Index(condition=models.Q(('status__in', ['pending', 'processing', 'underpaid'])), fields=['merchant', 'mode', 'amount', 'expires_at'], name='checkout_live_by_amount'),
        ),
        migrations.AddIndex(
            model_name='checkout',
            index=models.Index(condition=models.Q(('amount_received__gt', 0), ('status__in', ['pending', 'underpaid'])), fields=['merchant', 'mode'], name='checkout_partly_paid'),
        ),
        migrations.AddIndex(
            model_name='checkout',
            index=models.Index(condition=models.Q(('status', 'expired')), fields=['merchant', 'mode', 'expires_at'], name='checkout_expired_lately'),
        ),
        migrations.AddIndex(
            model_name='checkout',
            index=models.Index(condition=models.Q(('order_ref__gt', ''), models.Q(('creation_ref', models.F('order_ref')), _negated=True)), fields=['merchant', 'mode', 'order_ref'], name='checkout_by_order_ref'),
        ),
        migrations.AddConstraint(
            model_name='checkout',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ['pending', 'processing', 'underpaid', 'completed', 'expired'])), name='checkout_status_known'),
        ),
        migrations.AddConstraint(
            model_name='checkout',
            constraint=models.CheckConstraint(condition=models.Q(('amount__gt', 0)), name='checkout_amount_positive'),
        ),
        migrations.AddConstraint(
            model_name='checkout',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('paid_at__isnull', False), ('status', 'completed')), models.Q(models.Q(('status', 'completed'), _negated=True), ('paid_at', None)), _connector='OR'), name='checkout_completed_has_paid_at'),
        ),
        migrations.AddConstraint(
            model_name='checkout',
            constraint=models.CheckConstraint(condition=models.Q(('cancelled_at', None), ('status', 'expired'), _connector='OR'), name='checkout_cancelled_is_expired'),
        ),
        migrations.AddConstraint(
            model_name='checkout',
            constraint=models.UniqueConstraint(condition=models.Q(('creation_ref__isnull', False)), fields=('merchant', 'mode', 'creation_ref', 'amount', 'currency'), name='checkout_once_per_order_ref'),
        ),
        migrations.AddIndex(
            model_name='buyerreport',
            index=models.Index(condition=models.Q(('closed_at', None)), fields=['merchant', 'mode', '-id'], name='buyer_report_open'),
        ),
        migrations.AddConstraint(
            model_name='buyerreport',
            constraint=models.UniqueConstraint(fields=('checkout', 'tx_hash'), name='buyer_report_once'),
        ),
        migrations.AddIndex(
            model_name='amountreservation',
            index=models.Index(condition=models.Q(('released_at', None)), fields=['merchant', 'mode', 'suffix'], name='reservation_by_suffix'),
        ),
        migrations.AddIndex(
            model_name='amountreservation',
            index=models.Index(condition=models.Q(('released_at__isnull', False)), fields=['merchant', 'mode', 'price', 'suffix'], name='reservation_released'),
        ),
        migrations.AddIndex(
            model_name='amountreservation',
            index=models.Index(condition=models.Q(('released_at', None)), fields=['reserved_at'], name='reservation_held'),
        ),
        migrations.AddConstraint(
            model_name='amountreservation',
            constraint=models.UniqueConstraint(condition=models.Q(('released_at', None)), fields=('merchant', 'mode', 'price', 'suffix'), name='exact_amount_of_one_checkout'),
        ),
        migrations.AddConstraint(
            model_name='amountreservation',
            constraint=models.UniqueConstraint(condition=models.Q(('released_at', None)), fields=('checkout', 'price'), name='one_reservation_per_price'),
        ),
        migrations.AddConstraint(
            model_name='amountreservation',
            constraint=models.CheckConstraint(condition=models.Q(('suffix__gte', 1), ('suffix__lte', 9999)), name='suffix_below_one_cent'),
        ),
        migrations.AddIndex(
            model_name='checkoutcount',
            index=models.Index(fields=['merchant', 'mode', 'status'], name='checkout_count_read'),
        ),
        migrations.AddIndex(
            model_name='checkoutcount',
            index=models.Index(condition=models.Q(('is_sum', False)), fields=['id'], name='checkout_count_delta'),
        ),
        migrations.AddConstraint(
            model_name='checkoutcount',
            constraint=models.UniqueConstraint(condition=models.Q(('is_sum', True)), fields=('merchant', 'mode', 'status'), name='checkout_count_once'),
        ),
        migrations.AddIndex(
            model_name='dailytotal',
            index=models.Index(fields=['merchant', 'mode', 'day'], name='daily_total_read'),
        ),
        migrations.AddIndex(
            model_name='dailytotal',
            index=models.Index(condition=models.Q(('is_sum', False)), fields=['id'], name='daily_total_delta'),
        ),
        migrations.AddConstraint(
            model_name='dailytotal',
            constraint=models.UniqueConstraint(condition=models.Q(('is_sum', True)), fields=('merchant', 'mode', 'day', 'chain', 'token'), name='daily_total_once'),
        ),
        migrations.AddIndex(
            model_name='inboxitem',
            index=models.Index(condition=models.Q(('status', 'open')), fields=['merchant', 'mode', '-id'], name='inbox_open'),
        ),
        migrations.AddIndex(
            model_name='inboxitem',
            index=models.Index(condition=models.Q(('status', 'open'), _negated=True), fields=['merchant', 'mode', '-id'], name='inbox_resolved'),
        ),
        migrations.AddIndex(
            model_name='inboxitem',
            index=models.Index(condition=models.Q(('reason', 'reversed'), ('status', 'open')), fields=['merchant', 'mode', '-id'], name='inbox_alarms'),
        ),
        migrations.AddConstraint(
            model_name='inboxitem',
            constraint=models.UniqueConstraint(fields=('transfer', 'reason'), name='inbox_item_once_per_reason'),
        ),
        migrations.AddIndex(
            model_name='inboxdecision',
            index=models.Index(fields=['item', '-id'], name='inbox_decisions_of_item'),
        ),
        migrations.AddIndex(
            model_name='inboxdecision',
            index=models.Index(condition=models.Q(('done_at', None), ('failed_at', None), ('undone_at', None)), fields=['due_at'], name='inbox_decision_due'),
        ),
        migrations.AddConstraint(
            model_name='inboxdecision',
            constraint=models.UniqueConstraint(condition=models.Q(('failed_at', None), ('undone_at', None)), fields=('item',), name='inbox_item_has_one_standing_decision'),
        ),
        migrations.AddConstraint(
            model_name='inboxdecision',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('act', 'credit'), ('checkout__isnull', False)), models.Q(models.Q(('act', 'credit'), _negated=True), ('checkout', None)), _connector='OR'), name='inbox_credit_names_its_checkout'),
        ),
        migrations.AddConstraint(
            model_name='inboxdecision',
            constraint=models.CheckConstraint(condition=models.Q(('done_at', None), models.Q(('failed_at', None), ('undone_at', None)), _connector='OR'), name='inbox_decision_ends_once'),
        ),
        migrations.AddConstraint(
            model_name='inboxdecision',
            constraint=models.CheckConstraint(condition=models.Q(('undone_by', None), ('undone_at__isnull', False), _connector='OR'), name='inbox_decision_undone_by'),
        ),
        migrations.AddIndex(
            model_name='payment',
            index=models.Index(condition=models.Q(('handed_by__isnull', False)), fields=['handed_by'], name='payment_handed'),
        ),
        migrations.AddIndex(
            model_name='teststep',
            index=models.Index(condition=models.Q(('done_at', None)), fields=['due_at'], name='test_step_due'),
        ),
        migrations.RunSQL((Path(__file__).parents[1] / 'models/triggers.sql').read_text(), migrations.RunSQL.noop),
    ]
