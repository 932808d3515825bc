-- A transfer that paid as a sum is not paid with again in its parts, nor the other way round (wallets/models/triggers.sql).

CREATE FUNCTION x402_payment_one_reading() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
    IF EXISTS (
        SELECT FROM x402_payment o
        WHERE o.chain = NEW.chain AND o.tx_hash = NEW.tx_hash AND o.pay_to = NEW.pay_to AND o.token = NEW.token
          AND o.mode = NEW.mode AND (o.position < 1048576) <> (NEW.position < 1048576) AND o.status <> 'reversed'
    ) THEN
        RETURN NULL;
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER x402_payment_one_reading BEFORE INSERT ON x402_payment
    FOR EACH ROW EXECUTE FUNCTION x402_payment_one_reading();
