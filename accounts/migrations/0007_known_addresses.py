"""Whoever could log in before there were verified addresses was made by an operator: their address counts as verified."""

from django.db import migrations

KNOW = """
INSERT INTO account_emailaddress (user_id, email, verified, "primary")
SELECT id, email, true, true FROM accounts_user
WHERE NOT EXISTS (SELECT FROM account_emailaddress AS known WHERE known.user_id = accounts_user.id)
"""


class Migration(migrations.Migration):
    """Fills the login library's table."""

    dependencies = [
        ("accounts", "0006_audit_seals"),
        ("account", "0009_emailaddress_unique_primary_email"),
    ]
    operations = [migrations.RunSQL(KNOW, migrations.RunSQL.noop)]
