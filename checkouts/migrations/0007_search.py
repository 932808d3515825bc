"""Find checkouts by words and by amount, and list them by what became of them, without reading all of a merchant's.

Each index is built while checkouts are written. Words are collected in the index's pending list, which `checkouts.take_in_words`
moves into it each minute: a row that is inserted pays for an append only, and never for the whole list of all before it.
Partial indexes cost nothing when a checkout is created: none is paid, cancelled or unusual then.
"""

from django.db import migrations, models

# `gateway.core.postgres.words.vector` of `checkouts.search.SEARCHED`, as of this migration.
WORDS = r"""
    array_to_tsvector(array_remove(string_to_array((merchant_id::text || left(mode, 1)) || regexp_replace(lower(description || ' ' || order_ref || ' ' || customer_ref || ' ' || customer_email), '[\t\n\r !-/:-@\[-`{-~\u00a0\u00ab\u00bb\u2013\u2014\u2018-\u201e\u2026\u3000-\u3002]+', ' ' || (merchant_id::text || left(mode, 1)), 'g'), ' '), (merchant_id::text || left(mode, 1))))
"""


def _sql(name: str, rest: str) -> dict[str, list[str] | str]:
    """An index that is added while rows are written. An attempt that was broken off leaves an invalid one behind."""
    return {
        "sql": [
            f"DROP INDEX CONCURRENTLY IF EXISTS {name}",
            f"CREATE INDEX CONCURRENTLY {name} ON checkouts_checkout {rest}",
        ],
        "reverse_sql": f"DROP INDEX CONCURRENTLY {name}",
    }


def _index(index: models.Index, rest: str) -> migrations.RunSQL:
    return migrations.RunSQL(
        **_sql(index.name, rest), state_operations=[migrations.AddIndex(model_name="checkout", index=index)]
    )


class Migration(migrations.Migration):
    """Adds indexes only: the release before writes into them and reads none."""

    atomic = False
    stage = "expand"

    dependencies = [("checkouts", "0006_accepted_is_completed")]

    operations = [
        # Not in the model's state: Django has no expression for it.
        migrations.RunSQL(
            **_sql("checkout_words", f"USING gin (({WORDS.strip()})) WITH (fastupdate = on, gin_pending_list_limit = 65536)")
        ),
        _index(
            models.Index(fields=["merchant", "mode", "amount", "-id"], name="checkout_by_amount"),
            "(merchant_id, mode, amount, id DESC)",
        ),
        _index(
            models.Index(
                fields=["merchant", "mode", "-paid_at", "-id"],
                condition=models.Q(("paid_at__isnull", False)),
                name="checkout_by_paid_at",
            ),
            "(merchant_id, mode, paid_at DESC, id DESC) WHERE paid_at IS NOT NULL",
        ),
        _index(
            models.Index(
                fields=["merchant", "mode", "exception", "-id"],
                condition=models.Q(("exception__gt", "")),
                name="checkout_by_exception",
            ),
            "(merchant_id, mode, exception, id DESC) WHERE exception > ''",
        ),
        _index(
            models.Index(
                fields=["merchant", "mode", "-id"],
                condition=models.Q(("cancelled_at__isnull", False)),
                name="checkout_cancelled",
            ),
            "(merchant_id, mode, id DESC) WHERE cancelled_at IS NOT NULL",
        ),
    ]
