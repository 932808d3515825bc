"""Seals audit entries as their transactions commit, and those that were there before; seals are never changed.

The text under the digest is the one that `accounts.auditchain` selects again when it verifies.
"""

from django.db import migrations

SEAL = """
CREATE FUNCTION audit_seal_entry(entry accounts_auditentry) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    the_chain bigint := coalesce(entry.merchant_id, 0);
    last_number bigint;
    last_digest bytea;
    words text;
BEGIN
    -- Taken as the transaction commits, when it waits for nothing else. A transaction audits one merchant: no two hold
    -- what the other wants.
    PERFORM pg_advisory_xact_lock(hashtextextended('audit', the_chain));
    SELECT number, digest INTO last_number, last_digest FROM accounts_auditseal
        WHERE chain = the_chain ORDER BY number DESC LIMIT 1;
    words := jsonb_build_array(
        entry.id, entry.merchant_id, entry.actor_id, entry.actor_label, entry.action, entry.object_id, entry.before,
        entry.after, host(entry.address), (extract(epoch FROM entry.created_at) * 1000000)::bigint)::text;
    INSERT INTO accounts_auditseal (entry_id, chain, number, digest) VALUES (
        entry.id, the_chain, coalesce(last_number, 0) + 1,
        sha256(coalesce(last_digest, ''::bytea) || convert_to(words, 'UTF8')));
END $$;

CREATE FUNCTION audit_seal_new_entry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM audit_seal_entry(NEW);
    RETURN NULL;
END $$;

CREATE CONSTRAINT TRIGGER audit_sealed
    AFTER INSERT ON accounts_auditentry DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION audit_seal_new_entry();

CREATE TRIGGER audit_seals_append_only
    BEFORE UPDATE OR DELETE ON accounts_auditseal
    FOR EACH ROW EXECUTE FUNCTION audit_append_only();

DO $$
DECLARE
    old accounts_auditentry;
BEGIN
    FOR old IN SELECT * FROM accounts_auditentry ORDER BY id LOOP
        PERFORM audit_seal_entry(old);
    END LOOP;
END $$;
"""

UNSEAL = """
DROP TRIGGER audit_seals_append_only ON accounts_auditseal;
DROP TRIGGER audit_sealed ON accounts_auditentry;
DROP FUNCTION audit_seal_new_entry();
DROP FUNCTION audit_seal_entry(accounts_auditentry);
"""


class Migration(migrations.Migration):
    """Adds the triggers."""

    dependencies = [("accounts", "0005_teams_and_logins")]
    operations = [migrations.RunSQL(SEAL, UNSEAL)]
