"""Looks at every branding for the constraint of 0011, without a lock that writers wait for."""

from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):
    """Finds nothing: 0011 added the columns, and only the new release fills them."""

    stage = "expand"

    dependencies = [("accounts", "0011_shop_domain")]

    operations = [ValidateConstraint(model_name="branding", name="branding_domain_is_proven")]
