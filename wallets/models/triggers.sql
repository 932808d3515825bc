-- Daily totals of transfers, updated by statement triggers (docs/adr/0015).
--
-- A statement adds rows that say what it changed, and touches none that is there. Rows that were added to in place would be
-- locked until the transaction ends, and a watcher, which writes with several statements, would wait in a circle with the
-- worker that claims what it saw.
--
-- Claims and transfers are looked up by key, whatever is known of their number when a connection first plans to
-- (enable_seqscan): it keeps the plan it made while an installation was young. Old and new rows of an update are joined by
-- hashing (enable_nestloop), for the same reason: compared one with each other, 10,000 rows would take seconds.

CREATE FUNCTION transfer_days_moved() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
    INSERT INTO wallets_transferday (merchant_id, mode, day, chain, token, state, claim, count, units)
    SELECT t.merchant_id, t.mode, (t.block_time AT TIME ZONE 'UTC')::date, t.chain, t.token, t.state,
           coalesce((SELECT c.kind FROM wallets_transferclaim c WHERE c.transfer_id = t.id), ''),
           count(*) * sign.n, sum(t.units) * sign.n
    FROM moved t, (SELECT CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END AS n) sign
    GROUP BY 1, 2, 3, 4, 5, 6, 7, sign.n;
    RETURN NULL;
END $$;

CREATE FUNCTION transfer_days_changed() RETURNS trigger LANGUAGE plpgsql
SET enable_seqscan = off SET enable_nestloop = off AS $$
BEGIN
    INSERT INTO wallets_transferday (merchant_id, mode, day, chain, token, state, claim, count, units)
    SELECT part.merchant_id, part.mode, (part.block_time AT TIME ZONE 'UTC')::date, part.chain, part.token, part.state,
           coalesce((SELECT c.kind FROM wallets_transferclaim c WHERE c.transfer_id = a.id), ''),
           sum(part.n), sum(part.n * part.units)
    FROM before b JOIN after a ON a.id = b.id
    CROSS JOIN LATERAL (VALUES
        (b.merchant_id, b.mode, b.block_time, b.chain, b.token, b.state, b.units, -1),
        (a.merchant_id, a.mode, a.block_time, a.chain, a.token, a.state, a.units, 1)
    ) part (merchant_id, mode, block_time, chain, token, state, units, n)
    -- Most updates are of the queue: they end here.
    WHERE (a.state, a.units, a.block_time, a.merchant_id, a.mode, a.chain, a.token)
       IS DISTINCT FROM (b.state, b.units, b.block_time, b.merchant_id, b.mode, b.chain, b.token)
    GROUP BY 1, 2, 3, 4, 5, 6, 7
    HAVING sum(part.n) <> 0 OR sum(part.n * part.units) <> 0;
    RETURN NULL;
END $$;

CREATE FUNCTION transfer_days_claimed() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
    sign int := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
BEGIN
    -- Locked, so that nobody moves them to another day or state meanwhile without seeing the claim. Whoever claims a
    -- transfer has its lock already.
    WITH held AS (
        SELECT t.merchant_id, t.mode, t.block_time, t.chain, t.token, t.state, t.units, c.kind
        FROM claimed c JOIN wallets_transfer t ON t.id = c.transfer_id
        ORDER BY t.id FOR NO KEY UPDATE OF t
    )
    INSERT INTO wallets_transferday (merchant_id, mode, day, chain, token, state, claim, count, units)
    SELECT held.merchant_id, held.mode, (held.block_time AT TIME ZONE 'UTC')::date, held.chain, held.token, held.state,
           part.claim, sum(part.n), sum(part.n * held.units)
    FROM held CROSS JOIN LATERAL (VALUES (''::text, -sign), (held.kind::text, sign)) part (claim, n)
    GROUP BY 1, 2, 3, 4, 5, 6, 7;
    RETURN NULL;
END $$;

CREATE FUNCTION watched_days_moved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO wallets_watchedday (wallet_id, day, token, direction, state, is_payment, count, units)
    SELECT m.wallet_id, (m.block_time AT TIME ZONE 'UTC')::date, m.token, m.direction, m.state, m.is_payment,
           count(*) * sign.n, sum(m.units) * sign.n
    FROM moved m, (SELECT CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END AS n) sign
    GROUP BY 1, 2, 3, 4, 5, 6, sign.n;
    RETURN NULL;
END $$;

CREATE FUNCTION watched_days_changed() RETURNS trigger LANGUAGE plpgsql SET enable_nestloop = off AS $$
BEGIN
    INSERT INTO wallets_watchedday (wallet_id, day, token, direction, state, is_payment, count, units)
    SELECT part.wallet_id, (part.block_time AT TIME ZONE 'UTC')::date, part.token, part.direction, part.state,
           part.is_payment, sum(part.n), sum(part.n * part.units)
    FROM before b JOIN after a ON a.id = b.id
    CROSS JOIN LATERAL (VALUES
        (b.wallet_id, b.block_time, b.token, b.direction, b.state, b.is_payment, b.units, -1),
        (a.wallet_id, a.block_time, a.token, a.direction, a.state, a.is_payment, a.units, 1)
    ) part (wallet_id, block_time, token, direction, state, is_payment, units, n)
    GROUP BY 1, 2, 3, 4, 5, 6
    HAVING sum(part.n) <> 0 OR sum(part.n * part.units) <> 0;
    RETURN NULL;
END $$;

CREATE TRIGGER transfer_days_added AFTER INSERT ON wallets_transfer
    REFERENCING NEW TABLE AS moved FOR EACH STATEMENT EXECUTE FUNCTION transfer_days_moved();
CREATE TRIGGER transfer_days_removed AFTER DELETE ON wallets_transfer
    REFERENCING OLD TABLE AS moved FOR EACH STATEMENT EXECUTE FUNCTION transfer_days_moved();
CREATE TRIGGER transfer_days_changed AFTER UPDATE ON wallets_transfer
    REFERENCING OLD TABLE AS before NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION transfer_days_changed();
CREATE TRIGGER transfer_days_claimed AFTER INSERT ON wallets_transferclaim
    REFERENCING NEW TABLE AS claimed FOR EACH STATEMENT EXECUTE FUNCTION transfer_days_claimed();
CREATE TRIGGER transfer_days_unclaimed AFTER DELETE ON wallets_transferclaim
    REFERENCING OLD TABLE AS claimed FOR EACH STATEMENT EXECUTE FUNCTION transfer_days_claimed();
CREATE TRIGGER watched_days_added AFTER INSERT ON wallets_watchedmovement
    REFERENCING NEW TABLE AS moved FOR EACH STATEMENT EXECUTE FUNCTION watched_days_moved();
CREATE TRIGGER watched_days_removed AFTER DELETE ON wallets_watchedmovement
    REFERENCING OLD TABLE AS moved FOR EACH STATEMENT EXECUTE FUNCTION watched_days_moved();
CREATE TRIGGER watched_days_changed AFTER UPDATE ON wallets_watchedmovement
    REFERENCING OLD TABLE AS before NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION watched_days_changed();

-- The balances of deposit addresses, updated by the transaction that writes the transfer or the outflow.
--
-- Rows are updated in place. One watcher at a time, which holds the lease, writes the real money of a chain, so writers
-- never wait for each other in a circle.
--
-- A statement of 10,000 rows has to cost 10,000 times one row, not its square. So an update's rows are added up, the old ones
-- negatively, and are not joined (a connection keeps the plan that it made for few rows), and each row of a total is written once.

CREATE FUNCTION deposit_received() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        PERFORM deposit_balances_add(array_agg(m.deposit_id), array_agg(m.chain::text), array_agg(m.token::text), array_agg(m.units), false)
        FROM after m WHERE m.deposit_id IS NOT NULL AND m.mode = 'live' AND m.state = 'confirmed' HAVING count(*) > 0;
    ELSIF TG_OP = 'DELETE' THEN
        PERFORM deposit_balances_add(array_agg(m.deposit_id), array_agg(m.chain::text), array_agg(m.token::text), array_agg(-m.units), false)
        FROM before m WHERE m.deposit_id IS NOT NULL AND m.mode = 'live' AND m.state = 'confirmed' HAVING count(*) > 0;
    ELSE
        -- Most updates are of the queue: their rows cancel out.
        PERFORM deposit_balances_add(array_agg(m.deposit_id), array_agg(m.chain::text), array_agg(m.token::text), array_agg(m.units), false)
        FROM (
            SELECT deposit_id, chain, token, sum(units) AS units
            FROM (
                SELECT deposit_id, chain, token, units FROM after m WHERE m.deposit_id IS NOT NULL AND m.mode = 'live' AND m.state = 'confirmed'
                UNION ALL
                SELECT deposit_id, chain, token, -units FROM before m WHERE m.deposit_id IS NOT NULL AND m.mode = 'live' AND m.state = 'confirmed'
            ) both_sides
            GROUP BY 1, 2, 3 HAVING sum(units) <> 0
        ) m HAVING count(*) > 0;
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION deposit_flushed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        PERFORM deposit_balances_add(array_agg(m.deposit_id), array_agg(m.chain::text), array_agg(m.token::text), array_agg(m.units), true)
        FROM after m WHERE m.state = 'confirmed' HAVING count(*) > 0;
    ELSIF TG_OP = 'DELETE' THEN
        PERFORM deposit_balances_add(array_agg(m.deposit_id), array_agg(m.chain::text), array_agg(m.token::text), array_agg(-m.units), true)
        FROM before m WHERE m.state = 'confirmed' HAVING count(*) > 0;
    ELSE
        -- Most updates are of the queue: their rows cancel out.
        PERFORM deposit_balances_add(array_agg(m.deposit_id), array_agg(m.chain::text), array_agg(m.token::text), array_agg(m.units), true)
        FROM (
            SELECT deposit_id, chain, token, sum(units) AS units
            FROM (
                SELECT deposit_id, chain, token, units FROM after m WHERE m.state = 'confirmed'
                UNION ALL
                SELECT deposit_id, chain, token, -units FROM before m WHERE m.state = 'confirmed'
            ) both_sides
            GROUP BY 1, 2, 3 HAVING sum(units) <> 0
        ) m HAVING count(*) > 0;
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION deposit_balances_add(
    deposits bigint[], chains text[], tokens text[], units numeric[], is_flush boolean
) RETURNS void LANGUAGE sql SET enable_seqscan = off AS $$
    WITH moved AS (
        SELECT d.id, d.merchant_id, d.purpose, part.chain, part.token,
               CASE WHEN is_flush THEN 0 ELSE sum(part.units) END AS came,
               CASE WHEN is_flush THEN sum(part.units) ELSE 0 END AS went
        FROM unnest(deposits, chains, tokens, units) part (deposit, chain, token, units)
        JOIN wallets_depositaddress d ON d.id = part.deposit
        GROUP BY 1, 2, 3, 4, 5 HAVING sum(part.units) <> 0
    ), balances AS (
        INSERT INTO wallets_depositbalance AS kept (deposit_id, merchant_id, purpose, chain, token, received, flushed)
        SELECT id, merchant_id, purpose, chain, token, came, went FROM moved ORDER BY id
        ON CONFLICT (deposit_id, chain, token) DO UPDATE
        SET received = kept.received + EXCLUDED.received, flushed = kept.flushed + EXCLUDED.flushed
    )
    INSERT INTO wallets_deposittotal AS kept (merchant_id, purpose, chain, token, received, flushed)
    SELECT merchant_id, purpose, chain, token, sum(came), sum(went) FROM moved GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
    ON CONFLICT (merchant_id, purpose, chain, token) DO UPDATE
    SET received = kept.received + EXCLUDED.received, flushed = kept.flushed + EXCLUDED.flushed
$$;

CREATE TRIGGER deposit_received_added AFTER INSERT ON wallets_transfer
    REFERENCING NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION deposit_received();
CREATE TRIGGER deposit_received_removed AFTER DELETE ON wallets_transfer
    REFERENCING OLD TABLE AS before FOR EACH STATEMENT EXECUTE FUNCTION deposit_received();
CREATE TRIGGER deposit_received_changed AFTER UPDATE ON wallets_transfer
    REFERENCING OLD TABLE AS before NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION deposit_received();
CREATE TRIGGER deposit_flushed_added AFTER INSERT ON wallets_depositoutflow
    REFERENCING NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION deposit_flushed();
CREATE TRIGGER deposit_flushed_removed AFTER DELETE ON wallets_depositoutflow
    REFERENCING OLD TABLE AS before FOR EACH STATEMENT EXECUTE FUNCTION deposit_flushed();
CREATE TRIGGER deposit_flushed_changed AFTER UPDATE ON wallets_depositoutflow
    REFERENCING OLD TABLE AS before NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION deposit_flushed();

-- Of what an owner got or gave of a token in one transaction, either the sum is recorded, at a position below PARTS_FROM
-- (wallets/chains/base.py), or its parts, at positions from there on. Releases before 0.26 recorded sums. The row that comes second
-- is left out, whichever release writes it: so an upgrade records nothing twice. What a reorg removed does not count.

CREATE FUNCTION transfer_one_reading() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
    IF EXISTS (
        SELECT FROM wallets_transfer o
        WHERE o.chain = NEW.chain AND o.tx_hash = NEW.tx_hash AND o.recipient = NEW.recipient AND o.token = NEW.token
          AND (o.position < 1048576) <> (NEW.position < 1048576) AND o.state <> 'orphaned'
    ) THEN
        RETURN NULL;
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION movement_one_reading() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
    IF EXISTS (
        SELECT FROM wallets_watchedmovement o
        WHERE o.wallet_id = NEW.wallet_id AND o.tx_hash = NEW.tx_hash AND o.token = NEW.token
          AND (o.position < 1048576) <> (NEW.position < 1048576) AND o.state <> 'orphaned'
    ) THEN
        RETURN NULL;
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER transfer_one_reading BEFORE INSERT ON wallets_transfer
    FOR EACH ROW EXECUTE FUNCTION transfer_one_reading();
CREATE TRIGGER movement_one_reading BEFORE INSERT ON wallets_watchedmovement
    FOR EACH ROW EXECUTE FUNCTION movement_one_reading();
