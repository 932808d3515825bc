"""What the lists of the dashboard walk: a merchant's deliveries by status, type and time, and its endpoints."""

import django.db.models.deletion
from django.db import migrations, models

_FILL = """
UPDATE webhooks_delivery AS delivery
SET merchant_id = event.merchant_id, mode = event.mode, event_type = event.type, created_at = event.created_at
FROM webhooks_event AS event WHERE event.id = delivery.event_id
"""

_MERCHANT = {
    "db_constraint": False,
    "db_index": False,
    "on_delete": django.db.models.deletion.CASCADE,
    "related_name": "+",
    "to": "accounts.merchant",
}
_MODE = {"choices": [("live", "Live"), ("test", "Test")], "max_length": 4}


class Migration(migrations.Migration):

    dependencies = [
        ("accounts", "0001_tables"),
        ("webhooks", "0003_endpoint_by_digest"),
    ]

    operations = [
        migrations.AddField(
            "delivery", "merchant", models.ForeignKey(null=True, **_MERCHANT)
        ),
        migrations.AddField("delivery", "mode", models.CharField(null=True, **_MODE)),
        migrations.AddField(
            "delivery", "event_type", models.CharField(max_length=40, null=True)
        ),
        migrations.AddField("delivery", "created_at", models.DateTimeField(null=True)),
        migrations.RunSQL(_FILL, migrations.RunSQL.noop),
        migrations.AlterField("delivery", "merchant", models.ForeignKey(**_MERCHANT)),
        migrations.AlterField("delivery", "mode", models.CharField(**_MODE)),
        migrations.AlterField(
            "delivery", "event_type", models.CharField(max_length=40)
        ),
        migrations.AlterField("delivery", "created_at", models.DateTimeField()),
        migrations.AddIndex(
            "delivery",
            models.Index(
                fields=["merchant", "mode", "status", "event_type", "created_at", "id"],
                name="delivery_listed",
            ),
        ),
        migrations.AlterField(
            "endpoint",
            "merchant",
            models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="webhook_endpoints",
                to="accounts.merchant",
            ),
        ),
        migrations.AddIndex(
            "endpoint",
            models.Index(fields=["merchant", "mode", "id"], name="endpoint_listed"),
        ),
        migrations.AddIndex(
            "endpoint",
            models.Index(
                condition=models.Q(
                    ("disabled_at__isnull", False),
                    ("consecutive_failures__gte", 5),
                    _connector="OR",
                ),
                fields=["merchant", "mode", "id"],
                name="endpoint_troubled",
            ),
        ),
    ]
