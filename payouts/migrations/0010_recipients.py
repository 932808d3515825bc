"""Keeps what a chain says of the address of a payout; an address that loses the money is not approved."""

from django.db import migrations, models


class Migration(migrations.Migration):

    stage = "expand"

    dependencies = [("payouts", "0009_approvals_of_addresses")]

    operations = [
        migrations.AddField(
            model_name="payout",
            name="contract_on",
            field=models.CharField(blank=True, db_default="", default="", max_length=16),
        ),
        migrations.AddField(
            model_name="payout",
            name="inspected_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="payout",
            name="objection",
            field=models.CharField(blank=True, db_default="", default="", max_length=200),
        ),
        migrations.AddConstraint(
            model_name="payout",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("contract_on", ""), ("objection", "")), ("inspected_at__isnull", False), _connector="OR"
                ),
                name="payout_inspected_where_said",
            ),
        ),
        migrations.AddConstraint(
            model_name="payout",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("status", "approved"), _negated=True), ("objection", ""), _connector="OR"
                ),
                name="payout_approved_without_objection",
            ),
        ),
    ]
