"""Gives endpoints what the writers of other formats know of them. The release before neither reads nor fills it."""

from django.db import migrations, models


class Migration(migrations.Migration):

    stage = 'expand'

    dependencies = [
        ('webhooks', '0010_failing_deliveries'),
    ]

    operations = [
        migrations.AddField(
            model_name='endpoint',
            name='dialect',
            field=models.JSONField(null=True),
        ),
        migrations.AlterField(
            model_name='endpoint',
            name='format',
            field=models.CharField(choices=[('florin', 'Florin'), ('push', 'Push'), ('chat', 'Chat'), ('btcpay', 'Btcpay')], db_default='florin', default='florin', max_length=8),
        ),
    ]
