"""Gives endpoints the form in which they are sent. The release before inserts endpoints without it: they are of the usual one."""

from django.db import migrations, models


class Migration(migrations.Migration):

    stage = 'expand'

    dependencies = [
        ('webhooks', '0008_longer_subjects'),
    ]

    operations = [
        migrations.AddField(
            model_name='endpoint',
            name='format',
            field=models.CharField(choices=[('florin', 'Florin'), ('push', 'Push'), ('chat', 'Chat')], db_default='florin', default='florin', max_length=8),
        ),
    ]
