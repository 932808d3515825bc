"""Finds wallets and movements that payouts wait for, and checks why wallets are watched, while both are written."""

from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations, models


def _index(model_name: str, table: str, columns: str, condition: str, index: models.Index) -> migrations.RunSQL:
    """Add an index while rows are written. An attempt that was broken off leaves an invalid one behind."""
    return migrations.RunSQL(
        [
            f'DROP INDEX CONCURRENTLY IF EXISTS {index.name}',
            f'CREATE INDEX CONCURRENTLY {index.name} ON {table} ({columns}) WHERE {condition}',
        ],
        f'DROP INDEX CONCURRENTLY {index.name}',
        state_operations=[migrations.AddIndex(model_name=model_name, index=index)],
    )


class Migration(migrations.Migration):
    """Adds three partial indexes, which are empty until there is a payout."""

    atomic = False
    stage = 'expand'

    dependencies = [
        ('wallets', '0008_payouts_expected'),
    ]

    operations = [
        ValidateConstraint(model_name='watchedwallet', name='watched_wallet_purpose_known'),
        _index(
            'watchedwallet',
            'wallets_watchedwallet',
            'chain, expected_until',
            'expected_until IS NOT NULL',
            models.Index(
                fields=['chain', 'expected_until'],
                condition=models.Q(('expected_until__isnull', False)),
                name='watched_wallet_expected',
            ),
        ),
        _index(
            'watchedmovement',
            'wallets_watchedmovement',
            'queued_at, id',
            'queued_at IS NOT NULL',
            models.Index(
                fields=['queued_at', 'id'], condition=models.Q(('queued_at__isnull', False)), name='watched_movement_queue'
            ),
        ),
        _index(
            'watchedmovement',
            'wallets_watchedmovement',
            'chain, id',
            'witness_asked_at IS NOT NULL AND witness_answered_at IS NULL',
            models.Index(
                fields=['chain', 'id'],
                condition=models.Q(('witness_answered_at', None), ('witness_asked_at__isnull', False)),
                name='watched_movement_asked',
            ),
        ),
    ]
