"""Adds the shop's domain to branding. The release before inserts branding without it."""

from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models


class Migration(migrations.Migration):
    """Empty for every merchant; the default is the database's, so no row is rewritten. There is one row a merchant at most."""

    stage = "expand"

    dependencies = [("accounts", "0010_legal_lines")]

    operations = [
        migrations.AddField(
            model_name="branding",
            name="domain",
            field=models.CharField(blank=True, db_default="", default="", max_length=253),
        ),
        migrations.AddField(
            model_name="branding",
            name="domain_verified_at",
            field=models.DateTimeField(null=True),
        ),
        AddConstraintNotValid(
            model_name="branding",
            constraint=models.CheckConstraint(
                condition=models.Q(("domain", ""), ("domain_verified_at", None))
                | models.Q(models.Q(("domain", ""), _negated=True), ("domain_verified_at__isnull", False)),
                name="branding_domain_is_proven",
            ),
        ),
    ]
