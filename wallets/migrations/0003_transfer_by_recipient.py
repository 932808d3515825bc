from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("wallets", "0002_watcher_fields")]

    operations = [
        migrations.RemoveConstraint(
            model_name="transfer", name="transfer_recorded_once"
        ),
        migrations.AddConstraint(
            model_name="transfer",
            constraint=models.UniqueConstraint(
                fields=["chain", "tx_hash", "position", "recipient", "token"],
                name="transfer_recorded_once",
            ),
        ),
    ]
