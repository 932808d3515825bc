from pathlib import Path

import django.db.models.deletion
import django.db.models.functions.math
import django.db.models.functions.text
import django.db.models.lookups
import django.utils.timezone
import functools
import gateway.core.ids
from decimal import Decimal
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
    ]

    operations = [
        migrations.CreateModel(
            name='ApiKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=functools.partial(gateway.core.ids.new_id, *('key',), **{}), max_length=40, unique=True)),
                ('mode', models.CharField(choices=[('live', 'Live'), ('test', 'Test')], max_length=4)),
                ('name', models.CharField(blank=True, max_length=80)),
                ('digest', models.BinaryField(max_length=32, unique=True)),
                ('last_four', models.CharField(max_length=4)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('last_used_at', models.DateTimeField(null=True)),
                ('revoked_at', models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='AuditEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('actor_label', models.CharField(max_length=254)),
                ('action', models.CharField(max_length=80)),
                ('object_id', models.CharField(blank=True, max_length=80)),
                ('before', models.JSONField(null=True)),
                ('after', models.JSONField(null=True)),
                ('address', models.GenericIPAddressField(null=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                'verbose_name_plural': 'audit entries',
            },
        ),
        migrations.CreateModel(
            name='Merchant',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=functools.partial(gateway.core.ids.new_id, *('mer',), **{}), max_length=40, unique=True)),
                ('name', models.CharField(max_length=120)),
                ('fee_tier', models.CharField(choices=[('starter', 'Starter'), ('growth', 'Growth'), ('scale', 'Scale'), ('custom', 'Custom')], default='starter', max_length=8)),
                ('fee_rate', models.DecimalField(decimal_places=5, default=Decimal('0.015'), max_digits=6)),
                ('buyers_may_retry', models.BooleanField(default=False)),
                ('mails_receipts', models.BooleanField(default=False)),
                ('round_price_rivals', models.BooleanField(db_default=False, default=False)),
                ('wallet_change_hours', models.PositiveSmallIntegerField(default=24)),
                ('next_wallet_change_hours', models.PositiveSmallIntegerField(null=True)),
                ('next_wallet_change_hours_at', models.DateTimeField(null=True)),
                ('closed_at', models.DateTimeField(null=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.CreateModel(
            name='FeeDay',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField()),
                ('chain', models.CharField(max_length=16)),
                ('count', models.BigIntegerField(default=0)),
                ('amount', models.DecimalField(decimal_places=6, default=0, max_digits=96)),
                ('is_sum', models.BooleanField(db_default=False, default=False)),
            ],
        ),
        migrations.CreateModel(
            name='FeeEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('checkout', 'Checkout'), ('x402', 'X402')], max_length=8)),
                ('subject_id', models.CharField(max_length=40)),
                ('number', models.PositiveIntegerField(db_default=0, default=0)),
                ('chain', models.CharField(max_length=16)),
                ('token', models.CharField(max_length=12)),
                ('received', models.DecimalField(decimal_places=6, max_digits=96)),
                ('rate', models.DecimalField(decimal_places=5, max_digits=6)),
                ('amount', models.DecimalField(decimal_places=6, max_digits=96)),
                ('charged_at', models.DateTimeField()),
            ],
            options={
                'verbose_name_plural': 'fee entries',
            },
        ),
        migrations.CreateModel(
            name='Guesses',
            fields=[
                ('digest', models.BinaryField(max_length=32, primary_key=True, serialize=False)),
                ('failures', models.PositiveSmallIntegerField()),
                ('last_at', models.DateTimeField()),
                ('locked_until', models.DateTimeField(null=True)),
            ],
            options={
                'verbose_name_plural': 'guesses',
            },
        ),
        migrations.CreateModel(
            name='Invitation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=functools.partial(gateway.core.ids.new_id, *('inv',), **{}), max_length=40, unique=True)),
                ('email', models.EmailField(max_length=254)),
                ('role', models.CharField(choices=[('owner', 'Owner'), ('admin', 'Admin'), ('viewer', 'Viewer')], max_length=6)),
                ('digest', models.BinaryField(max_length=32, unique=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('expires_at', models.DateTimeField()),
                ('ended_at', models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='Membership',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('owner', 'Owner'), ('admin', 'Admin'), ('viewer', 'Viewer')], max_length=6)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.CreateModel(
            name='User',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('password', models.CharField(max_length=128, verbose_name='password')),
                ('last_login', models.DateTimeField(blank=True, null=True, verbose_name='last login')),
                ('is_superuser', models.BooleanField(default=False, help_text='Designates that this user has all permissions without explicitly assigning them.', verbose_name='superuser status')),
                ('public_id', models.CharField(default=functools.partial(gateway.core.ids.new_id, *('usr',), **{}), max_length=40, unique=True)),
                ('email', models.EmailField(max_length=254, unique=True)),
                ('name', models.CharField(blank=True, max_length=120)),
                ('is_active', models.BooleanField(default=True)),
                ('is_staff', models.BooleanField(default=False)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('groups', models.ManyToManyField(blank=True, help_text='The groups this user belongs to. A user will get all permissions granted to each of their groups.', related_name='user_set', related_query_name='user', to='auth.group', verbose_name='groups')),
                ('user_permissions', models.ManyToManyField(blank=True, help_text='Specific permissions for this user.', related_name='user_set', related_query_name='user', to='auth.permission', verbose_name='user permissions')),
            ],
        ),
        migrations.CreateModel(
            name='AuditSeal',
            fields=[
                ('entry', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='seal', serialize=False, to='accounts.auditentry')),
                ('chain', models.BigIntegerField()),
                ('number', models.BigIntegerField()),
                ('digest', models.BinaryField(max_length=32)),
            ],
        ),
        migrations.AddField(
            model_name='auditentry',
            name='actor',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.CreateModel(
            name='Branding',
            fields=[
                ('merchant', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='branding', serialize=False, to='accounts.merchant')),
                ('display_name', models.CharField(blank=True, max_length=80)),
                ('logo', models.BinaryField(default=bytes, max_length=262144)),
                ('logo_digest', models.CharField(blank=True, max_length=32)),
                ('accent', models.CharField(blank=True, max_length=7)),
                ('support_url', models.CharField(blank=True, max_length=2048)),
                ('terms_url', models.CharField(blank=True, max_length=2048)),
                ('return_label', models.CharField(blank=True, max_length=40)),
                ('updated_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.AddConstraint(
            model_name='merchant',
            constraint=models.CheckConstraint(condition=models.Q(('fee_tier__in', ['starter', 'growth', 'scale', 'custom'])), name='merchant_fee_tier_known'),
        ),
        migrations.AddConstraint(
            model_name='merchant',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('fee_rate__gte', 0), ('fee_rate__lt', 1), ('fee_tier', 'custom')), models.Q(('fee_rate', Decimal('0.015')), ('fee_tier', 'starter')), models.Q(('fee_rate', Decimal('0.010')), ('fee_tier', 'growth')), models.Q(('fee_rate', Decimal('0.007')), ('fee_tier', 'scale')), _connector='OR'), name='merchant_fee_rate_matches_tier'),
        ),
        migrations.AddConstraint(
            model_name='merchant',
            constraint=models.CheckConstraint(condition=models.Q(('wallet_change_hours__lte', 168)), name='merchant_wallet_change_hours_in_range'),
        ),
        migrations.AddConstraint(
            model_name='merchant',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('next_wallet_change_hours', None), ('next_wallet_change_hours_at', None)), models.Q(('next_wallet_change_hours__lt', models.F('wallet_change_hours')), ('next_wallet_change_hours_at__isnull', False)), _connector='OR'), name='merchant_next_wallet_change_hours_are_fewer'),
        ),
        migrations.AddField(
            model_name='auditentry',
            name='merchant',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='audit_entries', to='accounts.merchant'),
        ),
        migrations.AddField(
            model_name='apikey',
            name='merchant',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='api_keys', to='accounts.merchant'),
        ),
        migrations.AddField(
            model_name='feeday',
            name='merchant',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.merchant'),
        ),
        migrations.AddField(
            model_name='feeentry',
            name='corrects',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.feeentry'),
        ),
        migrations.AddField(
            model_name='feeentry',
            name='merchant',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='fee_entries', to='accounts.merchant'),
        ),
        migrations.AddField(
            model_name='invitation',
            name='invited_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='invitation',
            name='merchant',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='invitations', to='accounts.merchant'),
        ),
        migrations.AddField(
            model_name='membership',
            name='merchant',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to='accounts.merchant'),
        ),
        migrations.AddField(
            model_name='membership',
            name='user',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddConstraint(
            model_name='user',
            constraint=models.UniqueConstraint(django.db.models.functions.text.Lower('email'), name='user_email_unique'),
        ),
        migrations.AddConstraint(
            model_name='auditseal',
            constraint=models.UniqueConstraint(fields=('chain', 'number'), name='audit_seal_once'),
        ),
        migrations.AddIndex(
            model_name='auditentry',
            index=models.Index(fields=['merchant', '-id'], name='audit_of_merchant'),
        ),
        migrations.AddIndex(
            model_name='auditentry',
            index=models.Index(fields=['merchant', 'action', '-id'], name='audit_by_action'),
        ),
        migrations.AddIndex(
            model_name='auditentry',
            index=models.Index(fields=['merchant', 'actor', '-id'], name='audit_by_actor'),
        ),
        migrations.AddConstraint(
            model_name='apikey',
            constraint=models.CheckConstraint(condition=models.Q(('mode__in', ['live', 'test'])), name='api_key_mode_known'),
        ),
        migrations.AddConstraint(
            model_name='apikey',
            constraint=models.CheckConstraint(condition=models.Q(('revoked_at', None), ('revoked_at__gte', models.F('created_at')), _connector='OR'), name='api_key_revoked_after_created'),
        ),
        migrations.AddIndex(
            model_name='feeday',
            index=models.Index(fields=['merchant', 'day'], name='fee_day_report'),
        ),
        migrations.AddIndex(
            model_name='feeday',
            index=models.Index(condition=models.Q(('is_sum', False)), fields=['id'], name='fee_day_change'),
        ),
        migrations.AddConstraint(
            model_name='feeday',
            constraint=models.UniqueConstraint(condition=models.Q(('is_sum', True)), fields=('merchant', 'day', 'chain'), name='fee_day_once'),
        ),
        migrations.AddIndex(
            model_name='feeentry',
            index=models.Index(fields=['merchant', 'charged_at'], name='fee_by_month'),
        ),
        migrations.AddIndex(
            model_name='feeentry',
            index=models.Index(condition=models.Q(('number__gt', 0)), fields=['merchant', 'charged_at'], name='fee_corrections'),
        ),
        migrations.AddConstraint(
            model_name='feeentry',
            constraint=models.UniqueConstraint(fields=('kind', 'subject_id', 'number'), name='fee_booked_once'),
        ),
        migrations.AddConstraint(
            model_name='feeentry',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('corrects', None), ('number', 0)), models.Q(('corrects__isnull', False), ('number__gt', 0)), _connector='OR'), name='fee_correction_says_of_what'),
        ),
        migrations.AddConstraint(
            model_name='feeentry',
            constraint=models.CheckConstraint(condition=models.Q(('rate__gte', 0), models.Q(models.Q(django.db.models.lookups.Exact(django.db.models.functions.math.Mod('number', 2), 0), ('amount__gte', 0), ('received__gte', 0)), models.Q(django.db.models.lookups.Exact(django.db.models.functions.math.Mod('number', 2), 1), ('amount__lte', 0), ('received__lte', 0)), _connector='OR')), name='fee_signed_by_number'),
        ),
        migrations.AddConstraint(
            model_name='invitation',
            constraint=models.CheckConstraint(condition=models.Q(('role__in', ['owner', 'admin', 'viewer'])), name='invitation_role_known'),
        ),
        migrations.AddConstraint(
            model_name='invitation',
            constraint=models.UniqueConstraint(models.F('merchant'), django.db.models.functions.text.Lower('email'), condition=models.Q(('ended_at', None)), name='invitation_open_once'),
        ),
        migrations.AddConstraint(
            model_name='membership',
            constraint=models.UniqueConstraint(fields=('merchant', 'user'), name='membership_once'),
        ),
        migrations.AddConstraint(
            model_name='membership',
            constraint=models.CheckConstraint(condition=models.Q(('role__in', ['owner', 'admin', 'viewer'])), name='membership_role_known'),
        ),
        migrations.CreateModel(
            name='FiatInterest',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=functools.partial(gateway.core.ids.new_id, *('fiw',), **{}), max_length=40, unique=True)),
                ('mode', models.CharField(choices=[('live', 'Live'), ('test', 'Test')], max_length=4)),
                ('email', models.CharField(max_length=254)),
                ('company', models.CharField(blank=True, max_length=120)),
                ('country', models.CharField(blank=True, max_length=80)),
                ('monthly_volume', models.DecimalField(decimal_places=2, max_digits=20, null=True)),
                ('created_at', models.DateTimeField()),
                ('merchant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='fiat_interests', to='accounts.merchant')),
            ],
            options={
                'constraints': [models.UniqueConstraint(models.F('merchant'), models.F('mode'), django.db.models.functions.text.Lower('email'), name='fiat_interest_once'), models.CheckConstraint(condition=models.Q(('mode__in', ['live', 'test'])), name='fiat_interest_mode_known')],
            },
        ),
        migrations.RunSQL((Path(__file__).parents[1] / 'models/triggers.sql').read_text(), migrations.RunSQL.noop),
    ]
