"""The tables of notices. The release before knows none of them."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
import functools
import gateway.core.ids
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True
    stage = 'expand'

    dependencies = [
        ('accounts', '0012_domain_is_proven'),
        ('webhooks', '0009_endpoint_formats'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Pass',
            fields=[
                ('name', models.CharField(max_length=8, primary_key=True, serialize=False)),
                ('told_until', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='Chat',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=functools.partial(gateway.core.ids.new_id, *('ntc',), **{}), max_length=40, unique=True)),
                ('mode', models.CharField(choices=[('live', 'Live'), ('test', 'Test')], max_length=4)),
                ('service', models.CharField(choices=[('slack', 'Slack'), ('discord', 'Discord'), ('telegram', 'Telegram')], max_length=8)),
                ('name', models.CharField(max_length=80)),
                ('kinds', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('payment', 'Payments'), ('inbox', 'Inbox items'), ('report', "Buyers' reports"), ('refund', 'Refunds to approve'), ('endpoint', 'Failing webhooks'), ('chain', 'Network trouble'), ('gas', 'Low gas')], max_length=8), size=None)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('added_by', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('endpoint', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='webhooks.endpoint')),
                ('merchant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.merchant')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('service__in', ['slack', 'discord', 'telegram'])), name='notice_service_known')],
            },
        ),
        migrations.CreateModel(
            name='Choice',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('mode', models.CharField(choices=[('live', 'Live'), ('test', 'Test')], max_length=4)),
                ('kind', models.CharField(choices=[('payment', 'Payments'), ('inbox', 'Inbox items'), ('report', "Buyers' reports"), ('refund', 'Refunds to approve'), ('endpoint', 'Failing webhooks'), ('chain', 'Network trouble'), ('gas', 'Low gas')], max_length=8)),
                ('way', models.CharField(choices=[('mail', 'Mail'), ('push', 'Push')], max_length=4)),
                ('how', models.CharField(choices=[('never', 'Never'), ('at_once', 'At once'), ('daily', 'Daily')], max_length=7)),
                ('merchant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.merchant')),
                ('user', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('user', 'merchant', 'mode', 'kind', 'way'), name='notice_chosen_once'), models.CheckConstraint(condition=models.Q(('how__in', ['never', 'at_once', 'daily'])), name='notice_how_known'), models.CheckConstraint(condition=models.Q(('how', 'daily'), ('way', 'push'), _negated=True), name='notice_push_is_at_once')],
            },
        ),
        migrations.CreateModel(
            name='Device',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=functools.partial(gateway.core.ids.new_id, *('ntd',), **{}), max_length=40, unique=True)),
                ('digest', models.BinaryField(max_length=32)),
                ('name', models.CharField(max_length=80)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('endpoint', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='webhooks.endpoint')),
                ('merchant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.merchant')),
                ('user', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('user', 'merchant', 'digest'), name='notice_device_once')],
            },
        ),
    ]
