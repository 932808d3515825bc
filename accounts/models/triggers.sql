-- Audit entries are written once; the database refuses to change or delete them.

CREATE FUNCTION audit_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'audit entries are never changed'
        USING ERRCODE = 'check_violation', CONSTRAINT = 'audit_append_only';
END $$;

CREATE TRIGGER audit_append_only
    BEFORE UPDATE OR DELETE ON accounts_auditentry
    FOR EACH ROW EXECUTE FUNCTION audit_append_only();

-- Audit entries are sealed as their transactions commit (docs/adr/0011). The text under the digest is the one that
-- accounts.audit.chain selects again when it verifies.

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

-- Each day's fees are added up by whoever books them, and no entry changes any more: what is taken back or charged again is
-- an entry of its own.

CREATE FUNCTION fee_days_added() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO accounts_feeday (merchant_id, day, chain, count, amount)
    SELECT merchant_id, (charged_at AT TIME ZONE 'UTC')::date, chain, sum(1 - 2 * (number % 2)), sum(amount)
    FROM after GROUP BY 1, 2, 3;
    RETURN NULL;
END $$;

CREATE TRIGGER fee_days_added AFTER INSERT ON accounts_feeentry
    REFERENCING NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION fee_days_added();

CREATE FUNCTION fee_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'fee entries are never changed'
        USING ERRCODE = 'check_violation', CONSTRAINT = 'fee_append_only';
END $$;

CREATE TRIGGER fee_append_only BEFORE UPDATE OR DELETE ON accounts_feeentry
    FOR EACH ROW EXECUTE FUNCTION fee_append_only();
