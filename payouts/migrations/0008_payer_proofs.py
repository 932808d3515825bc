"""Lets a refund go only to an address that its money came from, whose key signs our message."""

from django.db import migrations, models


class Migration(migrations.Migration):

    stage = "expand"

    dependencies = [("payouts", "0007_methods_in_use"), ("wallets", "0012_refund_proofs")]

    operations = [
        migrations.AddField(
            model_name="payout",
            name="requires_proof",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddConstraint(
            model_name="payout",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("requires_proof", False), ("address", ""), ("proved_at__isnull", False), _connector="OR"
                ),
                name="payout_proved_where_required",
            ),
        ),
    ]
