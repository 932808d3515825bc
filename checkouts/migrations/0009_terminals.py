"""The tables of the till. The release before knows none of them, and makes no checkout of theirs."""

import django.db.models.deletion
import django.utils.timezone
import gateway.core.ids
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    stage = 'expand'

    dependencies = [
        ('accounts', '0014_time_zone'),
        ('checkouts', '0008_customer_notes'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Terminal',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(max_length=40, unique=True)),
                ('code', models.CharField(default=gateway.core.ids.new_code, max_length=32, unique=True)),
                ('mode', models.CharField(choices=[('live', 'Live'), ('test', 'Test')], max_length=4)),
                ('name', models.CharField(max_length=40)),
                ('tips', models.JSONField(default=list)),
                ('chain', models.CharField(blank=True, max_length=16)),
                ('has_sign', models.BooleanField(default=False)),
                ('shows_day', models.BooleanField(default=False)),
                ('digest', models.BinaryField(max_length=32, null=True, unique=True)),
                ('pair_digest', models.BinaryField(max_length=32, null=True, unique=True)),
                ('pair_until', models.DateTimeField(null=True)),
                ('device', models.CharField(blank=True, max_length=80)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('paired_at', models.DateTimeField(null=True)),
                ('last_seen_at', models.DateTimeField(null=True)),
                ('revoked_at', models.DateTimeField(null=True)),
                ('created_by', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('merchant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='terminals', to='accounts.merchant')),
            ],
            options={
                'indexes': [models.Index(fields=['merchant', 'mode', '-id'], name='terminal_list')],
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('revoked_at', None), models.Q(('digest', None), ('pair_digest', None)), _connector='OR'), name='terminal_revoked_has_no_device'),
                    models.CheckConstraint(condition=models.Q(models.Q(('pair_digest', None), ('pair_until', None)), models.Q(('pair_digest__isnull', False), ('pair_until__isnull', False)), _connector='OR'), name='terminal_pairing_ends'),
                ],
            },
        ),
        migrations.CreateModel(
            name='TerminalSale',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('form', models.CharField(max_length=64)),
                ('tip', models.DecimalField(decimal_places=2, default=0, max_digits=20)),
                ('is_by_customer', models.BooleanField(default=False)),
                ('created_at', models.DateTimeField()),
                ('checkout', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='terminal_sale', to='checkouts.checkout')),
                ('terminal', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='sales', to='checkouts.terminal')),
            ],
            options={
                'indexes': [models.Index(fields=['terminal', '-created_at', '-id'], name='terminal_sales_by_time')],
                'constraints': [
                    models.UniqueConstraint(fields=('terminal', 'form'), name='terminal_sale_once_per_form'),
                    models.CheckConstraint(condition=models.Q(('tip__gte', 0)), name='terminal_sale_tip_not_negative'),
                ],
            },
        ),
    ]
