"""Looks at every checkout for the constraint of 0005, without a lock that writers wait for."""

from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):
    """Finds nothing: 0005 added the column, and only the new release fills it."""

    stage = "expand"

    dependencies = [("checkouts", "0005_acceptances")]

    operations = [ValidateConstraint(model_name="checkout", name="checkout_accepted_is_completed")]
