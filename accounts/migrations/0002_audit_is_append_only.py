"""Audit entries are written once; the database refuses to change or delete them."""

from django.db import migrations

GUARD = """
CREATE FUNCTION audit_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'audit entries are never changed'
        USING ERRCODE = 'check_violation', CONSTRAINT = 'audit_append_only';
END $$;

CREATE TRIGGER audit_append_only
    BEFORE UPDATE OR DELETE ON accounts_auditentry
    FOR EACH ROW EXECUTE FUNCTION audit_append_only();
"""

UNGUARD = """
DROP TRIGGER audit_append_only ON accounts_auditentry;
DROP FUNCTION audit_append_only();
"""


class Migration(migrations.Migration):
    """Adds the trigger."""

    dependencies = [("accounts", "0001_tables")]
    operations = [migrations.RunSQL(GUARD, UNGUARD)]
