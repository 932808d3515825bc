"""Adds when a receiving wallet was last looked up, and what its chain says against it."""

from django.db import migrations, models


class Migration(migrations.Migration):

    stage = 'expand'

    dependencies = [
        ('wallets', '0005_halts'),
    ]

    operations = [
        migrations.AddField(
            model_name='receivingwallet',
            name='inspected_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='receivingwallet',
            name='objection',
            field=models.CharField(blank=True, db_default='', max_length=200),
        ),
        migrations.AddField(
            model_name='receivingwallet',
            name='refused_at',
            field=models.DateTimeField(null=True),
        ),
    ]
