-- A quote is the evidence of a rate; the database refuses to change or delete it.

CREATE FUNCTION quote_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'quotes are never changed'
        USING ERRCODE = 'check_violation', CONSTRAINT = 'quote_append_only';
END $$;

CREATE TRIGGER quote_append_only
    BEFORE UPDATE OR DELETE ON checkouts_quote
    FOR EACH ROW EXECUTE FUNCTION quote_append_only();

-- A signed receipt is what its buyer holds: the database refuses to change or delete our copy.

CREATE FUNCTION receipt_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'receipts are never changed'
        USING ERRCODE = 'check_violation', CONSTRAINT = 'receipt_append_only';
END $$;

CREATE TRIGGER receipt_append_only
    BEFORE UPDATE OR DELETE ON checkouts_receipt
    FOR EACH ROW EXECUTE FUNCTION receipt_append_only();

-- What a token of another currency is worth in a checkout is fixed with it: `dues` and `amount` together say that, so the database
-- refuses to change either. Checkouts that offer no such token run neither function.

CREATE FUNCTION checkout_dues_fixed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the worth of tokens in checkout % is never changed', OLD.public_id
        USING ERRCODE = 'check_violation', CONSTRAINT = 'checkout_dues_fixed';
END $$;

CREATE TRIGGER checkout_dues_fixed
    BEFORE UPDATE OF dues, amount ON checkouts_checkout
    FOR EACH ROW
    WHEN (NEW.dues IS DISTINCT FROM OLD.dues OR OLD.dues IS NOT NULL AND NEW.amount IS DISTINCT FROM OLD.amount)
    EXECUTE FUNCTION checkout_dues_fixed();

CREATE FUNCTION checkout_dues_possible() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF jsonb_typeof(NEW.dues) <> 'object' OR NEW.dues = '{}' OR EXISTS (
        SELECT FROM jsonb_each(NEW.dues) AS due
        WHERE jsonb_typeof(due.value->'units') IS DISTINCT FROM 'number'
           OR (due.value->>'units')::numeric < 1 OR (due.value->>'units')::numeric % 1 <> 0
    ) THEN
        RAISE EXCEPTION 'dues are units of tokens, more than zero'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'checkout_dues_possible';
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER checkout_dues_possible
    BEFORE INSERT ON checkouts_checkout
    FOR EACH ROW
    WHEN (NEW.dues IS NOT NULL)
    EXECUTE FUNCTION checkout_dues_possible();
