"""Looks at every merchant for the constraint of 0015, without a lock that writers wait for."""

from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):
    """Finds nothing: the column is new."""

    stage = "expand"

    dependencies = [("accounts", "0015_rate_margin")]

    operations = [ValidateConstraint(model_name="merchant", name="merchant_rate_margin_in_range")]
