"""Reports list a merchant's transfers by time: one index in place of the one by merchant, so that none is written more."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """Swaps the index."""

    dependencies = [
        ("accounts", "0008_settings_pages"),
        ("wallets", "0007_wallet_changes"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="transfer",
            index=models.Index(
                fields=["merchant", "mode", "-block_time", "-id"],
                name="transfer_report",
            ),
        ),
        migrations.AlterField(
            model_name="transfer",
            name="merchant",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="accounts.merchant",
            ),
        ),
    ]
