import django.db.models.deletion
import django.utils.timezone
import functools
import gateway.core.ids
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0001_initial'),
        ('checkouts', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='LinkTemplate',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=functools.partial(gateway.core.ids.new_id, *('ltp',), **{}), max_length=40, unique=True)),
                ('mode', models.CharField(choices=[('live', 'Live'), ('test', 'Test')], max_length=4)),
                ('title', models.CharField(max_length=120)),
                ('type', models.CharField(choices=[('invoice', 'Invoice'), ('donation', 'Donation'), ('subscription', 'Subscription'), ('custom', 'Custom')], max_length=12)),
                ('amount', models.DecimalField(decimal_places=2, max_digits=20, null=True)),
                ('description', models.CharField(blank=True, max_length=256)),
                ('metadata', models.TextField(default='{}')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('merchant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='link_templates', to='accounts.merchant')),
            ],
        ),
        migrations.CreateModel(
            name='PaymentLink',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(max_length=40, unique=True)),
                ('code', models.CharField(default=gateway.core.ids.new_code, max_length=32, unique=True)),
                ('mode', models.CharField(choices=[('live', 'Live'), ('test', 'Test')], max_length=4)),
                ('type', models.CharField(choices=[('invoice', 'Invoice'), ('donation', 'Donation'), ('subscription', 'Subscription'), ('custom', 'Custom')], default='custom', max_length=12)),
                ('status', models.CharField(choices=[('active', 'Active'), ('paused', 'Paused'), ('archived', 'Archived')], default='active', max_length=8)),
                ('title', models.CharField(max_length=120)),
                ('description', models.CharField(blank=True, max_length=256)),
                ('amount', models.DecimalField(decimal_places=2, max_digits=20, null=True)),
                ('currency', models.CharField(default='USD', max_length=3)),
                ('min_amount', models.DecimalField(decimal_places=2, max_digits=20, null=True)),
                ('max_amount', models.DecimalField(decimal_places=2, max_digits=20, null=True)),
                ('suggested_amounts', models.JSONField(default=list)),
                ('interval', models.CharField(blank=True, choices=[('week', 'Week'), ('month', 'Month'), ('year', 'Year')], max_length=5)),
                ('metadata', models.TextField(default='{}')),
                ('redirect_url', models.CharField(blank=True, max_length=2048)),
                ('webhook_url', models.CharField(blank=True, max_length=2048)),
                ('customer_ref', models.CharField(blank=True, max_length=128)),
                ('product_ref', models.CharField(blank=True, max_length=128)),
                ('escrow', models.BooleanField(db_default=False, default=False)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('updated_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('merchant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='payment_links', to='accounts.merchant')),
                ('template', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='links', to='links.linktemplate')),
            ],
        ),
        migrations.CreateModel(
            name='Subscription',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=functools.partial(gateway.core.ids.new_id, *('sub',), **{}), max_length=40, unique=True)),
                ('email', models.CharField(blank=True, max_length=254)),
                ('paid_until', models.DateTimeField(null=True)),
                ('created_at', models.DateTimeField()),
                ('link', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='subscriptions', to='links.paymentlink')),
            ],
        ),
        migrations.CreateModel(
            name='SubscriberMail',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('paid', 'Paid'), ('due', 'Due')], max_length=4)),
                ('period_end', models.DateTimeField()),
                ('subscription', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='mails', to='links.subscription')),
            ],
        ),
        migrations.CreateModel(
            name='LinkCheckout',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slot', models.CharField(max_length=120)),
                ('attempt', models.PositiveIntegerField()),
                ('settled_at', models.DateTimeField(null=True)),
                ('checkout', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='checkouts.checkout')),
                ('link', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='checkouts', to='links.paymentlink')),
                ('subscription', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='checkouts', to='links.subscription')),
            ],
        ),
        migrations.AddIndex(
            model_name='linktemplate',
            index=models.Index(fields=['merchant', 'mode', '-id'], name='link_template_list'),
        ),
        migrations.AddIndex(
            model_name='paymentlink',
            index=models.Index(fields=['merchant', 'mode', '-id'], name='link_list'),
        ),
        migrations.AddIndex(
            model_name='paymentlink',
            index=models.Index(fields=['merchant', 'mode', 'status', '-id'], name='link_by_status'),
        ),
        migrations.AddConstraint(
            model_name='paymentlink',
            constraint=models.CheckConstraint(condition=models.Q(('type__in', ['invoice', 'donation', 'subscription', 'custom'])), name='link_type_known'),
        ),
        migrations.AddConstraint(
            model_name='paymentlink',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ['active', 'paused', 'archived'])), name='link_status_known'),
        ),
        migrations.AddConstraint(
            model_name='paymentlink',
            constraint=models.CheckConstraint(condition=models.Q(('type', 'donation'), ('amount__gt', 0), _connector='OR'), name='link_amount_unless_donation'),
        ),
        migrations.AddConstraint(
            model_name='paymentlink',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('interval__in', ['week', 'month', 'year']), ('type', 'subscription')), models.Q(models.Q(('type', 'subscription'), _negated=True), ('interval', '')), _connector='OR'), name='link_interval_of_subscriptions'),
        ),
        migrations.AddIndex(
            model_name='subscription',
            index=models.Index(condition=models.Q(('email', ''), _negated=True), fields=['paid_until'], name='subscription_to_remind'),
        ),
        migrations.AddConstraint(
            model_name='subscribermail',
            constraint=models.UniqueConstraint(fields=('subscription', 'kind', 'period_end'), name='subscriber_mail_once'),
        ),
        migrations.AddIndex(
            model_name='linkcheckout',
            index=models.Index(condition=models.Q(('settled_at', None), ('subscription__isnull', False)), fields=['id'], name='subscription_unsettled'),
        ),
        migrations.AddConstraint(
            model_name='linkcheckout',
            constraint=models.UniqueConstraint(fields=('link', 'slot', 'attempt'), name='one_checkout_per_attempt'),
        ),
    ]
