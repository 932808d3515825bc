"""Lets who paid prove an address for a refund, by the messages that prove receiving wallets. No person of the merchant asks then."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    stage = "expand"

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("wallets", "0011_orphaned_found"),
    ]

    operations = [
        migrations.AlterField(
            model_name="walletproof",
            name="purpose",
            field=models.CharField(
                choices=[("checkout", "Checkout"), ("x402", "X402"), ("refund", "Refund")],
                db_default="checkout",
                default="checkout",
                max_length=8,
            ),
        ),
        migrations.AddField(
            model_name="walletproof",
            name="subject",
            field=models.CharField(blank=True, db_default="", max_length=40),
        ),
        # By hand: Django would drop the foreign key and check each row of it again.
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    "ALTER TABLE wallets_walletproof ALTER COLUMN requested_by_id DROP NOT NULL",
                    "ALTER TABLE wallets_walletproof ALTER COLUMN requested_by_id SET NOT NULL",
                )
            ],
            state_operations=[
                migrations.AlterField(
                    model_name="walletproof",
                    name="requested_by",
                    field=models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                )
            ],
        ),
    ]
