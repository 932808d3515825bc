"""Events of one type, and an endpoint's failed deliveries, are found without reading the others."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [("webhooks", "0004_lists")]

    operations = [
        migrations.AddIndex(
            "event",
            models.Index(
                fields=["merchant", "mode", "type", "sequence"], name="events_by_type"
            ),
        ),
        migrations.AddIndex(
            "delivery",
            models.Index(
                condition=models.Q(("status", "failed")),
                fields=["endpoint"],
                name="delivery_failed",
            ),
        ),
    ]
