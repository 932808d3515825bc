-- A final status never changes, whatever code asks for it: the database refuses.

CREATE FUNCTION checkout_final_status_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'checkout % is % and stays so', OLD.public_id, OLD.status
        USING ERRCODE = 'check_violation', CONSTRAINT = 'checkout_final_status_guard';
END $$;

CREATE TRIGGER checkout_final_status_guard
    BEFORE UPDATE OF status ON checkouts_checkout
    FOR EACH ROW
    WHEN (OLD.status IN ('completed', 'expired') AND NEW.status IS DISTINCT FROM OLD.status)
    EXECUTE FUNCTION checkout_final_status_guard();
