"""The tables of the facade for plugins of BTCPay Server. The release before knows none of them."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True
    stage = 'expand'

    dependencies = [
        ('accounts', '0014_time_zone'),
        ('checkouts', '0006_accepted_is_completed'),
    ]

    operations = [
        migrations.CreateModel(
            name='Connection',
            fields=[
                ('api_key', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='greenfield', serialize=False, to='accounts.apikey')),
                ('permissions', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=64), size=None)),
                ('application', models.CharField(blank=True, max_length=80)),
                ('redirect_host', models.CharField(blank=True, max_length=255)),
            ],
        ),
        migrations.CreateModel(
            name='InvoiceOptions',
            fields=[
                ('checkout', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='greenfield', serialize=False, to='checkouts.checkout')),
                ('sent', models.JSONField(default=dict)),
            ],
        ),
    ]
