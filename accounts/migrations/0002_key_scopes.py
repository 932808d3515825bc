import django.contrib.postgres.fields
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    stage = 'expand'

    dependencies = [
        ('accounts', '0001_initial'),
    ]

    operations = [
        migrations.AddField(
            model_name='apikey',
            name='allowed_networks',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=43), db_default=[], default=list, size=None),
        ),
        migrations.AddField(
            model_name='apikey',
            name='created_by',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='apikey',
            name='expires_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='apikey',
            name='last_used_from',
            field=models.GenericIPAddressField(null=True),
        ),
        migrations.AddField(
            model_name='apikey',
            name='last_used_scope',
            field=models.CharField(db_default='', default='', max_length=32),
        ),
        migrations.AddField(
            model_name='apikey',
            name='preset',
            field=models.CharField(choices=[('shop', 'Shop'), ('paid_api', 'Paid API'), ('accountant', 'Accountant'), ('agent', 'Agent'), ('everything', 'Everything as before'), ('custom', 'Chosen one by one')], db_default='everything', max_length=16),
        ),
        migrations.AddField(
            model_name='apikey',
            name='refused_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='apikey',
            name='refused_scope',
            field=models.CharField(db_default='', default='', max_length=32),
        ),
        migrations.AddField(
            model_name='apikey',
            name='replaced_by',
            field=models.OneToOneField(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='replaces', to='accounts.apikey'),
        ),
        migrations.AddField(
            model_name='apikey',
            name='scopes',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=32), db_default=['checkouts:read', 'checkouts:write', 'escrow:release', 'links:read', 'links:write', 'events:read', 'reports:read', 'wallets:read', 'wallets:write', 'x402:read', 'x402:verify', 'x402:settle'], size=None),
        ),
        migrations.AddConstraint(
            model_name='apikey',
            constraint=models.CheckConstraint(condition=models.Q(('scopes__len__gt', 0)), name='api_key_may_do_something'),
        ),
        migrations.AddConstraint(
            model_name='apikey',
            constraint=models.CheckConstraint(condition=models.Q(('allowed_networks__len__lte', 20)), name='api_key_networks_in_range'),
        ),
    ]
