"""Transfers and movements get ids that nobody can guess. Every step runs on tables that are in use, and may run again."""

from django.contrib.postgres.functions import RandomUUID
from django.db import migrations, models
from django.db.models import TextField, Value
from django.db.models.functions import Cast, Concat, Replace

_BATCH = 10_000
_TABLES = {"wallets_transfer": "trf_", "wallets_watchedmovement": "mov_"}
_CONSTRAINTS = {
    "wallets_transfer": "transfer_public_id",
    "wallets_watchedmovement": "watched_movement_public_id",
}
_FRESH = "'{prefix}' || replace(gen_random_uuid()::text, '-', '')"


def add_columns(apps, schema_editor):
    """New rows have an id from here on; setting a default afterwards rewrites no table."""
    for table, prefix in _TABLES.items():
        schema_editor.execute(
            f"ALTER TABLE {table} ADD COLUMN IF NOT EXISTS public_id varchar(40)"
        )
        fresh = _FRESH.format(prefix=prefix)
        schema_editor.execute(
            f"ALTER TABLE {table} ALTER COLUMN public_id SET DEFAULT {fresh}"
        )


def fill(apps, schema_editor):
    """Give the rows that are there already an id, some thousands in a transaction."""
    for table, prefix in _TABLES.items():
        with schema_editor.connection.cursor() as cursor:
            cursor.execute(f"SELECT coalesce(max(id), 0) FROM {table}")
            [last] = cursor.fetchone()
            for first in range(0, last + 1, _BATCH):
                cursor.execute(
                    f"UPDATE {table} SET public_id = {_FRESH.format(prefix=prefix)}"
                    " WHERE public_id IS NULL AND id >= %s AND id < %s",
                    [first, first + _BATCH],
                )


def constrain(apps, schema_editor):
    """Make them unique and required, without keeping writers out while the rows are read."""
    for table, name in _CONSTRAINTS.items():
        for statement in (
            f"ALTER TABLE {table} DROP CONSTRAINT IF EXISTS {name}",
            f"DROP INDEX CONCURRENTLY IF EXISTS {name}",
            f"CREATE UNIQUE INDEX CONCURRENTLY {name} ON {table} (public_id)",
            f"ALTER TABLE {table} ADD CONSTRAINT {name} UNIQUE USING INDEX {name}",
            f"ALTER TABLE {table} DROP CONSTRAINT IF EXISTS {name}_set",
            f"ALTER TABLE {table} ADD CONSTRAINT {name}_set CHECK (public_id IS NOT NULL) NOT VALID",
            f"ALTER TABLE {table} VALIDATE CONSTRAINT {name}_set",
            f"ALTER TABLE {table} ALTER COLUMN public_id SET NOT NULL",
            f"ALTER TABLE {table} DROP CONSTRAINT {name}_set",
        ):
            schema_editor.execute(statement)


def remove_columns(apps, schema_editor):
    """Take the ids away again."""
    for table in _TABLES:
        schema_editor.execute(f"ALTER TABLE {table} DROP COLUMN public_id")


def _field(prefix):
    digits = Replace(Cast(RandomUUID(), TextField()), Value("-"), Value(""))
    return models.CharField(
        db_default=Concat(Value(prefix), digits), editable=False, max_length=40
    )


class Migration(migrations.Migration):
    """Adds `public_id` to both tables."""

    atomic = False

    dependencies = [("wallets", "0011_deposit_balances")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AddField("transfer", "public_id", _field("trf_")),
                migrations.AddField("watchedmovement", "public_id", _field("mov_")),
                migrations.AddConstraint(
                    "transfer",
                    models.UniqueConstraint(
                        fields=["public_id"], name="transfer_public_id"
                    ),
                ),
                migrations.AddConstraint(
                    "watchedmovement",
                    models.UniqueConstraint(
                        fields=["public_id"], name="watched_movement_public_id"
                    ),
                ),
            ],
            database_operations=[
                migrations.RunPython(add_columns, remove_columns),
                migrations.RunPython(fill, migrations.RunPython.noop),
                migrations.RunPython(constrain, migrations.RunPython.noop),
            ],
        )
    ]
