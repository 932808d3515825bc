from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("wallets", "0001_tables")]

    operations = [
        migrations.AddField(
            model_name="chaincursor",
            name="head_time",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="chaincursor",
            name="factory_ok",
            field=models.BooleanField(null=True),
        ),
        migrations.AddConstraint(
            model_name="receivingwallet",
            constraint=models.UniqueConstraint(
                fields=["chain", "address"],
                condition=Q(
                    retired_at=None, chain__in=("ethereum", "solana", "ton", "tron")
                ),
                name="receiving_wallet_of_one_merchant",
            ),
        ),
    ]
