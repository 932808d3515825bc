"""The index that answers people who look for a reference of theirs; creating through the API does not pay for it."""

from django.db import migrations, models
from django.db.models import F, Q


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0007_known_addresses"),
        ("checkouts", "0007_again_url"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="checkout",
            index=models.Index(
                fields=["merchant", "mode", "order_ref"],
                condition=Q(order_ref__gt="") & ~Q(creation_ref=F("order_ref")),
                name="checkout_by_order_ref",
            ),
        ),
    ]
