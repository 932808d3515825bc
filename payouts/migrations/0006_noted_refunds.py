"""Makes payouts of the refunds that people noted by hand. Their address is unknown."""

from typing import Any

from django.db import migrations, models

from payouts.lifecycle.noted import import_notes


def _import(apps: Any, _: Any) -> None:
    import_notes(apps.get_model)


class Migration(migrations.Migration):

    stage = "expand"

    dependencies = [
        ("payouts", "0005_lost_outflows"),
        ("checkouts", "0006_accepted_is_completed"),
        ("wallets", "0007_transfer_returns"),
    ]

    operations = [
        migrations.RemoveConstraint(model_name="payout", name="payout_has_an_address"),
        migrations.AddConstraint(
            model_name="payout",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("address", ""), _negated=True),
                    ("status__in", ["open", "cancelled", "expired"]),
                    models.Q(("imported_tx", ""), _negated=True),
                    _connector="OR",
                ),
                name="payout_has_an_address",
            ),
        ),
        migrations.RunPython(_import, migrations.RunPython.noop),
    ]
