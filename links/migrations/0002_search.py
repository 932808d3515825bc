"""Find payment links by words of their titles and descriptions."""

from django.db import migrations

# `gateway.core.postgres.words.vector` of `links.selectors.SEARCHED`, as of this migration.
WORDS = r"""
    array_to_tsvector(array_remove(string_to_array((merchant_id::text || left(mode, 1)) || regexp_replace(lower(title || ' ' || description), '[\t\n\r !-/:-@\[-`{-~\u00a0\u00ab\u00bb\u2013\u2014\u2018-\u201e\u2026\u3000-\u3002]+', ' ' || (merchant_id::text || left(mode, 1)), 'g'), ' '), (merchant_id::text || left(mode, 1))))
"""


class Migration(migrations.Migration):
    """Adds an index to links while they are written. An attempt that was broken off leaves an invalid one behind."""

    atomic = False
    stage = "expand"

    dependencies = [("links", "0001_initial")]

    operations = [
        # Not in the model's state: Django has no expression for it.
        migrations.RunSQL(
            [
                "DROP INDEX CONCURRENTLY IF EXISTS link_words",
                f"CREATE INDEX CONCURRENTLY link_words ON links_paymentlink USING gin (({WORDS.strip()}))",
            ],
            "DROP INDEX CONCURRENTLY link_words",
        )
    ]
