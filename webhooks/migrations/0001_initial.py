import django.db.models.deletion
import django.db.models.functions.text
import django.utils.timezone
import functools
import gateway.core.ids
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='Delivery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=functools.partial(gateway.core.ids.new_id, *('whd',), **{}), max_length=40)),
                ('status', models.CharField(choices=[('pending', 'Pending'), ('held', 'Held'), ('delivered', 'Delivered'), ('failed', 'Failed')], default='pending', max_length=9)),
                ('tries', models.PositiveSmallIntegerField(default=0)),
                ('next_attempt_at', models.DateTimeField()),
                ('is_due', models.BooleanField(default=True)),
                ('finished_at', models.DateTimeField(null=True)),
                ('mode', models.CharField(choices=[('live', 'Live'), ('test', 'Test')], max_length=4)),
                ('event_type', models.CharField(max_length=40)),
                ('created_at', models.DateTimeField()),
                ('merchant', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.merchant')),
            ],
        ),
        migrations.CreateModel(
            name='Attempt',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('started_at', models.DateTimeField()),
                ('duration_ms', models.PositiveIntegerField()),
                ('status_code', models.PositiveSmallIntegerField(null=True)),
                ('error', models.CharField(blank=True, max_length=200)),
                ('request_headers', models.JSONField(default=dict)),
                ('response_headers', models.JSONField(default=dict)),
                ('response_body', models.TextField(blank=True)),
                ('delivery', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='attempts', to='webhooks.delivery')),
            ],
        ),
        migrations.CreateModel(
            name='Endpoint',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('mode', models.CharField(choices=[('live', 'Live'), ('test', 'Test')], max_length=4)),
                ('url', models.CharField(max_length=2048)),
                ('is_default', models.BooleanField(default=False)),
                ('consecutive_failures', models.PositiveIntegerField(default=0)),
                ('failing_since', models.DateTimeField(null=True)),
                ('next_probe_at', models.DateTimeField(null=True)),
                ('owner_told_at', models.DateTimeField(null=True)),
                ('disabled_at', models.DateTimeField(null=True)),
                ('disabled_reason', models.CharField(blank=True, max_length=200)),
                ('served_by', models.CharField(blank=True, max_length=40)),
                ('served_until', models.DateTimeField(null=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('merchant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='webhook_endpoints', to='accounts.merchant')),
            ],
        ),
        migrations.AddField(
            model_name='delivery',
            name='endpoint',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='webhooks.endpoint'),
        ),
        migrations.CreateModel(
            name='Event',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=functools.partial(gateway.core.ids.new_id, *('evt',), **{}), max_length=40)),
                ('mode', models.CharField(choices=[('live', 'Live'), ('test', 'Test')], max_length=4)),
                ('type', models.CharField(max_length=40)),
                ('subject_id', models.CharField(max_length=40)),
                ('occurrence', models.CharField(max_length=120)),
                ('sequence', models.BigIntegerField()),
                ('body', models.BinaryField()),
                ('created_at', models.DateTimeField()),
                ('merchant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.merchant')),
            ],
        ),
        migrations.AddField(
            model_name='delivery',
            name='event',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='webhooks.event'),
        ),
        migrations.CreateModel(
            name='EventCounter',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('mode', models.CharField(choices=[('live', 'Live'), ('test', 'Test')], max_length=4)),
                ('value', models.BigIntegerField(default=0)),
                ('merchant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.merchant')),
            ],
        ),
        migrations.CreateModel(
            name='SigningSecret',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('sealed', models.BinaryField()),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('expires_at', models.DateTimeField(null=True)),
                ('merchant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='webhook_secrets', to='accounts.merchant')),
            ],
        ),
        migrations.AddIndex(
            model_name='endpoint',
            index=models.Index(fields=['merchant', 'mode', 'id'], name='endpoint_listed'),
        ),
        migrations.AddIndex(
            model_name='endpoint',
            index=models.Index(condition=models.Q(('disabled_at__isnull', False), ('consecutive_failures__gte', 5), _connector='OR'), fields=['merchant', 'mode', 'id'], name='endpoint_troubled'),
        ),
        migrations.AddConstraint(
            model_name='endpoint',
            constraint=models.UniqueConstraint(models.F('merchant'), models.F('mode'), django.db.models.functions.text.MD5('url'), name='endpoint_once_per_url'),
        ),
        migrations.AddConstraint(
            model_name='endpoint',
            constraint=models.UniqueConstraint(condition=models.Q(('is_default', True)), fields=('merchant', 'mode'), name='one_default_endpoint'),
        ),
        migrations.AddIndex(
            model_name='event',
            index=models.Index(fields=['subject_id'], name='events_of_subject'),
        ),
        migrations.AddIndex(
            model_name='event',
            index=models.Index(fields=['merchant', 'mode', 'type', 'sequence'], name='events_by_type'),
        ),
        migrations.AddConstraint(
            model_name='event',
            constraint=models.UniqueConstraint(fields=('merchant', 'mode', 'sequence'), name='event_sequence_once'),
        ),
        migrations.AddConstraint(
            model_name='event',
            constraint=models.UniqueConstraint(fields=('public_id',), name='event_id_once'),
        ),
        migrations.AddConstraint(
            model_name='event',
            constraint=models.UniqueConstraint(fields=('occurrence',), name='event_once_per_occurrence'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(condition=models.Q(('is_due', True), ('status', 'pending')), fields=['endpoint', 'id'], name='delivery_due'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(condition=models.Q(('is_due', False), ('status', 'pending')), fields=['next_attempt_at'], name='delivery_waiting'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(condition=models.Q(('status__in', ['pending', 'held'])), fields=['endpoint', 'id'], name='delivery_unfinished'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(condition=models.Q(('status', 'failed')), fields=['endpoint'], name='delivery_failed'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(fields=['merchant', 'mode', 'status', 'event_type', 'created_at', 'id'], name='delivery_listed'),
        ),
        migrations.AddConstraint(
            model_name='delivery',
            constraint=models.UniqueConstraint(fields=('event', 'endpoint'), name='one_delivery_per_endpoint'),
        ),
        migrations.AddConstraint(
            model_name='delivery',
            constraint=models.UniqueConstraint(fields=('public_id',), name='delivery_id_once'),
        ),
        migrations.AddConstraint(
            model_name='delivery',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ['pending', 'held', 'delivered', 'failed'])), name='delivery_status_known'),
        ),
        migrations.AddConstraint(
            model_name='eventcounter',
            constraint=models.UniqueConstraint(fields=('merchant', 'mode'), name='one_event_counter'),
        ),
        migrations.AddConstraint(
            model_name='signingsecret',
            constraint=models.UniqueConstraint(condition=models.Q(('expires_at', None)), fields=('merchant',), name='one_current_secret'),
        ),
    ]
