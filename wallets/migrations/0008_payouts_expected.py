"""Adds what lets payouts follow movements: why a wallet is watched, until when at full pace, a queue, and witnesses."""

from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models


class Migration(migrations.Migration):

    stage = 'expand'

    dependencies = [
        ('wallets', '0007_transfer_returns'),
    ]

    operations = [
        migrations.AddField(
            model_name='watchedwallet',
            name='purpose',
            field=models.CharField(choices=[('list', 'List'), ('payout', 'Payout')], db_default='list', default='list', max_length=6),
        ),
        migrations.AddField(
            model_name='watchedwallet',
            name='expected_until',
            field=models.DateTimeField(null=True),
        ),
        AddConstraintNotValid(
            model_name='watchedwallet',
            constraint=models.CheckConstraint(condition=models.Q(('purpose__in', ['list', 'payout'])), name='watched_wallet_purpose_known'),
        ),
        migrations.AddField(
            model_name='watchedmovement',
            name='queued_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='watchedmovement',
            name='labels',
            field=models.JSONField(null=True),
        ),
        migrations.AddField(
            model_name='watchedmovement',
            name='witness_asked_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='watchedmovement',
            name='witness_answered_at',
            field=models.DateTimeField(null=True),
        ),
    ]
