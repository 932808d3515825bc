"""Finds checkouts by their price in its own currency, as they are found by their amount in USD."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """The index is built while checkouts are written. It holds those with a price alone, so it costs nothing for USD."""

    atomic = False
    stage = "expand"

    dependencies = [("checkouts", "0011_orders_by_price")]

    # An attempt that was broken off leaves an invalid index behind.
    operations = [
        migrations.RunSQL(
            [
                "DROP INDEX CONCURRENTLY IF EXISTS checkout_by_price",
                "CREATE INDEX CONCURRENTLY checkout_by_price ON checkouts_checkout "
                "(merchant_id, mode, price, id DESC) WHERE price IS NOT NULL",
            ],
            "DROP INDEX CONCURRENTLY checkout_by_price",
            state_operations=[
                migrations.AddIndex(
                    model_name="checkout",
                    index=models.Index(
                        condition=models.Q(("price__isnull", False)),
                        fields=["merchant", "mode", "price", "-id"],
                        name="checkout_by_price",
                    ),
                )
            ],
        )
    ]
