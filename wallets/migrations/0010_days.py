"""What each day moved, kept by whoever writes it: triggers that cannot be forgotten, and the days of what there is already.

A statement adds rows that say what it changed, and touches none that is there. Rows that were added to in place would be
locked until the transaction ends, and a watcher, which writes with several statements, would wait in a circle with the
worker that claims what it saw.

Claims and transfers are looked up by key, whatever is known of their number when a connection first plans to
(`enable_seqscan`): it keeps the plan it made while an installation was young.
"""

from django.db import migrations, models

TRIGGERS = """
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

CREATE FUNCTION transfer_days_changed() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
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

CREATE FUNCTION watched_days_changed() RETURNS trigger LANGUAGE plpgsql AS $$
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
"""

NO_TRIGGERS = """
DROP TRIGGER transfer_days_added ON wallets_transfer;
DROP TRIGGER transfer_days_removed ON wallets_transfer;
DROP TRIGGER transfer_days_changed ON wallets_transfer;
DROP TRIGGER transfer_days_claimed ON wallets_transferclaim;
DROP TRIGGER transfer_days_unclaimed ON wallets_transferclaim;
DROP TRIGGER watched_days_added ON wallets_watchedmovement;
DROP TRIGGER watched_days_removed ON wallets_watchedmovement;
DROP TRIGGER watched_days_changed ON wallets_watchedmovement;
DROP FUNCTION transfer_days_moved();
DROP FUNCTION transfer_days_changed();
DROP FUNCTION transfer_days_claimed();
DROP FUNCTION watched_days_moved();
DROP FUNCTION watched_days_changed();
"""

# Behind the triggers, which keep writers out until this is committed.
FILL = """
INSERT INTO wallets_transferday (merchant_id, mode, day, chain, token, state, claim, count, units, is_sum)
SELECT t.merchant_id, t.mode, (t.block_time AT TIME ZONE 'UTC')::date, t.chain, t.token, t.state, coalesce(c.kind, ''),
       count(*), sum(t.units), true
FROM wallets_transfer t LEFT JOIN wallets_transferclaim c ON c.transfer_id = t.id
GROUP BY 1, 2, 3, 4, 5, 6, 7;
INSERT INTO wallets_watchedday (wallet_id, day, token, direction, state, is_payment, count, units, is_sum)
SELECT wallet_id, (block_time AT TIME ZONE 'UTC')::date, token, direction, state, is_payment, count(*), sum(units), true
FROM wallets_watchedmovement
GROUP BY 1, 2, 3, 4, 5, 6;
"""


class Migration(migrations.Migration):
    """Adds the triggers."""

    dependencies = [("wallets", "0009_both_directions")]
    operations = [
        migrations.RemoveConstraint(
            model_name="transferday", name="transfer_day_once"
        ),
        migrations.RemoveConstraint(model_name="watchedday", name="watched_day_once"),
        migrations.AddField(
            model_name="transferday",
            name="is_sum",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name="watchedday",
            name="is_sum",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddConstraint(
            model_name="transferday",
            constraint=models.UniqueConstraint(
                condition=models.Q(("is_sum", True)),
                fields=("merchant", "mode", "day", "chain", "token", "state", "claim"),
                name="transfer_day_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="watchedday",
            constraint=models.UniqueConstraint(
                condition=models.Q(("is_sum", True)),
                fields=("wallet", "day", "token", "direction", "state", "is_payment"),
                name="watched_day_once",
            ),
        ),
        migrations.AddIndex(
            model_name="transferday",
            index=models.Index(
                fields=["merchant", "mode", "day"], name="transfer_day_report"
            ),
        ),
        migrations.AddIndex(
            model_name="transferday",
            index=models.Index(
                condition=models.Q(("is_sum", False)),
                fields=["id"],
                name="transfer_day_change",
            ),
        ),
        migrations.AddIndex(
            model_name="watchedday",
            index=models.Index(fields=["wallet", "day"], name="watched_day_report"),
        ),
        migrations.AddIndex(
            model_name="watchedday",
            index=models.Index(
                condition=models.Q(("is_sum", False)),
                fields=["id"],
                name="watched_day_change",
            ),
        ),
        migrations.RunSQL(TRIGGERS, NO_TRIGGERS),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
    ]
