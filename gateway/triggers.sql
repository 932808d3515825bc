-- A public key stays listed as it is, so that what it signed can be checked for ever. It may be withdrawn, once.

CREATE FUNCTION signing_key_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF OLD.until IS NULL AND to_jsonb(NEW) - 'until' = to_jsonb(OLD) - 'until' THEN
            RETURN NEW;
        END IF;
    END IF;
    RAISE EXCEPTION 'signing keys are never changed, and withdrawn once'
        USING ERRCODE = 'check_violation', CONSTRAINT = 'signing_key_append_only';
END $$;

CREATE TRIGGER signing_key_append_only
    BEFORE UPDATE OR DELETE ON gateway_signingkey
    FOR EACH ROW EXECUTE FUNCTION signing_key_append_only();
