-- A final status never changes, whatever code asks for it: the database refuses.

CREATE FUNCTION payout_final_status_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'payout % is % and stays so', OLD.public_id, OLD.status
        USING ERRCODE = 'check_violation', CONSTRAINT = 'payout_final_status_guard';
END $$;

CREATE TRIGGER payout_final_status_guard
    BEFORE UPDATE OF status ON payouts_payout
    FOR EACH ROW
    WHEN (OLD.status IN ('paid', 'cancelled', 'expired') AND NEW.status IS DISTINCT FROM OLD.status)
    EXECUTE FUNCTION payout_final_status_guard();

-- A payout is handed out in one batch. It leaves a cancelled one, and only then is free for another.

CREATE FUNCTION payout_of_one_batch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'payout % is in a batch', OLD.public_id
        USING ERRCODE = 'check_violation', CONSTRAINT = 'payout_of_one_batch';
END $$;

CREATE TRIGGER payout_of_one_batch
    BEFORE UPDATE OF batch_id ON payouts_payout
    FOR EACH ROW
    WHEN (OLD.batch_id IS NOT NULL AND NEW.batch_id IS NOT NULL AND NEW.batch_id <> OLD.batch_id)
    EXECUTE FUNCTION payout_of_one_batch();

-- An approval is of the address that its payout has: who saw an earlier one approves nothing, whatever code asks. The payout is
-- locked by the look, so that its address does not change before the approval is there.

CREATE FUNCTION payout_approval_of_present_address() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM payouts_payout WHERE id = NEW.payout_id AND revision = NEW.revision FOR SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'payout % has another address', NEW.payout_id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'payout_approval_of_present_address';
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER payout_approval_of_present_address
    BEFORE INSERT OR UPDATE OF payout_id, revision ON payouts_approval
    FOR EACH ROW
    EXECUTE FUNCTION payout_approval_of_present_address();
