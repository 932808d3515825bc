"""List the checkouts of a customer or of a product without reading all of a merchant's.

Each index has some 75 MB for a million checkouts that have the reference, and is built while they are written.
"""

from django.db import migrations, models


def _index(reference: str) -> migrations.RunSQL:
    """Add an index while rows are written. An attempt that was broken off leaves an invalid one behind."""
    name = f"checkout_by_{reference}"
    return migrations.RunSQL(
        [
            f"DROP INDEX CONCURRENTLY IF EXISTS {name}",
            f"CREATE INDEX CONCURRENTLY {name} ON checkouts_checkout (merchant_id, mode, {reference}, id DESC) "
            f"WHERE {reference} > ''",
        ],
        f"DROP INDEX CONCURRENTLY {name}",
        state_operations=[
            migrations.AddIndex(
                model_name="checkout",
                index=models.Index(
                    fields=["merchant", "mode", reference, "-id"],
                    condition=models.Q((f"{reference}__gt", "")),
                    name=name,
                ),
            )
        ],
    )


class Migration(migrations.Migration):
    """Adds two partial indexes: checkouts without references are not in them."""

    atomic = False
    stage = "expand"

    dependencies = [("checkouts", "0002_reversals")]

    operations = [_index("customer_ref"), _index("product_ref")]
