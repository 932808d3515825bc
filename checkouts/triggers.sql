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
