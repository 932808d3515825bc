"""A merchant may cancel a checkout that nobody has paid: it is expired, and says when it was cancelled."""

from django.db import migrations, models

# Written unchecked first: reading all rows for it must not hold up those who write them.
GUARD = (
    "ALTER TABLE checkouts_checkout ADD CONSTRAINT checkout_cancelled_is_expired"
    " CHECK (cancelled_at IS NULL OR status = 'expired') NOT VALID"
)
VALIDATE = "ALTER TABLE checkouts_checkout VALIDATE CONSTRAINT checkout_cancelled_is_expired"
UNGUARD = "ALTER TABLE checkouts_checkout DROP CONSTRAINT checkout_cancelled_is_expired"


class Migration(migrations.Migration):
    """Adds the column and its constraint."""

    atomic = False
    dependencies = [("checkouts", "0014_handed_payments")]

    operations = [
        migrations.AddField(
            model_name="checkout",
            name="cancelled_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(GUARD, UNGUARD),
                migrations.RunSQL(VALIDATE, migrations.RunSQL.noop),
            ],
            state_operations=[
                migrations.AddConstraint(
                    model_name="checkout",
                    constraint=models.CheckConstraint(
                        condition=models.Q(("cancelled_at", None))
                        | models.Q(("status", "expired")),
                        name="checkout_cancelled_is_expired",
                    ),
                )
            ],
        ),
    ]
