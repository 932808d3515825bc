"""Finds repeated orders by the price that the merchant said, and looks at every checkout for the constraint of 0010."""

from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations, models


class Migration(migrations.Migration):
    """The index is built while checkouts are written; it holds none that the release before makes.

    `checkout_once_per_order_ref` stays, because that release names it in its `ON CONFLICT`. So two prices of one order that come to the
    same cent of USD cannot both be made yet. The release that contracts gives it the condition `price IS NULL`.
    """

    atomic = False
    stage = "expand"

    dependencies = [("checkouts", "0010_quotes")]

    # An attempt that was broken off leaves an invalid index behind.
    operations = [
        migrations.RunSQL(
            [
                "DROP INDEX CONCURRENTLY IF EXISTS checkout_once_per_priced_order_ref",
                "CREATE UNIQUE INDEX CONCURRENTLY checkout_once_per_priced_order_ref ON checkouts_checkout "
                "(merchant_id, mode, creation_ref, price, currency) "
                "WHERE creation_ref IS NOT NULL AND price IS NOT NULL",
            ],
            "DROP INDEX CONCURRENTLY checkout_once_per_priced_order_ref",
            state_operations=[
                migrations.AddConstraint(
                    model_name="checkout",
                    constraint=models.UniqueConstraint(
                        condition=models.Q(("creation_ref__isnull", False), ("price__isnull", False)),
                        fields=("merchant", "mode", "creation_ref", "price", "currency"),
                        name="checkout_once_per_priced_order_ref",
                    ),
                )
            ],
        ),
        ValidateConstraint(model_name="checkout", name="checkout_price_is_not_usd"),
    ]
