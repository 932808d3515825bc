"""The queue is taken in the order of `queued_at`, so that what was set aside waits behind the rest."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    """Rebuilds the queue's index."""

    dependencies = [("wallets", "0003_transfer_by_recipient")]

    operations = [
        migrations.RemoveIndex(model_name="transfer", name="transfer_queue"),
        migrations.AddIndex(
            model_name="transfer",
            index=models.Index(
                fields=["queued_at", "id"],
                condition=Q(queued_at__isnull=False),
                name="transfer_queue",
            ),
        ),
    ]
