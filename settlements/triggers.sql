-- What gas costs by ten minutes: whoever changes it inserts the difference. No row that is there is touched, so nothing is
-- locked.

CREATE FUNCTION gas_spans_add(of_account bigint, asked_at timestamptz, change numeric) RETURNS void LANGUAGE sql AS $$
    INSERT INTO settlements_gasspan (account_id, begins_at, wei)
    SELECT of_account, date_bin('10 minutes', asked_at, timestamptz 'epoch'), change WHERE change <> 0
$$;

CREATE FUNCTION gas_spent() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' AND OLD.state <> 'dropped' THEN
        PERFORM gas_spans_add(OLD.account_id, OLD.created_at, -COALESCE(OLD.cost_wei, OLD.most_wei));
    END IF;
    IF TG_OP <> 'DELETE' AND NEW.state <> 'dropped' THEN
        PERFORM gas_spans_add(NEW.account_id, NEW.created_at, COALESCE(NEW.cost_wei, NEW.most_wei));
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER gas_spent_or_freed AFTER INSERT OR DELETE ON settlements_gastransaction
    FOR EACH ROW EXECUTE FUNCTION gas_spent();
CREATE TRIGGER gas_spent_changed AFTER UPDATE ON settlements_gastransaction
    FOR EACH ROW WHEN (
        (OLD.account_id, OLD.created_at, OLD.state = 'dropped', COALESCE(OLD.cost_wei, OLD.most_wei)) IS DISTINCT FROM
        (NEW.account_id, NEW.created_at, NEW.state = 'dropped', COALESCE(NEW.cost_wei, NEW.most_wei))
    ) EXECUTE FUNCTION gas_spent();
