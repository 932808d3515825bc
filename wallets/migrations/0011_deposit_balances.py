"""What deposit addresses hold, kept by whoever writes what came and what left: triggers that cannot be forgotten.

Rows are added to in place. Real money of a chain is written by its one watcher, under its lease, so nobody waits in a circle.
"""

import django.db.models.deletion
from django.db import migrations, models

TRIGGERS = """
CREATE FUNCTION deposit_received() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        PERFORM deposit_balances_add(t.deposit_id, t.chain, t.token, sum(t.units), 0)
        FROM after t WHERE t.deposit_id IS NOT NULL AND t.mode = 'live' AND t.state = 'confirmed'
        GROUP BY t.deposit_id, t.chain, t.token ORDER BY t.deposit_id;
    ELSIF TG_OP = 'DELETE' THEN
        PERFORM deposit_balances_add(t.deposit_id, t.chain, t.token, -sum(t.units), 0)
        FROM before t WHERE t.deposit_id IS NOT NULL AND t.mode = 'live' AND t.state = 'confirmed'
        GROUP BY t.deposit_id, t.chain, t.token ORDER BY t.deposit_id;
    ELSE
        PERFORM deposit_balances_add(a.deposit_id, a.chain, a.token, sum(
            CASE WHEN a.state = 'confirmed' THEN a.units ELSE 0 END
            - CASE WHEN b.state = 'confirmed' THEN b.units ELSE 0 END), 0)
        FROM before b JOIN after a ON a.id = b.id
        -- Most updates are of the queue: they end here.
        WHERE a.deposit_id IS NOT NULL AND a.mode = 'live' AND (a.state, a.units) IS DISTINCT FROM (b.state, b.units)
        GROUP BY a.deposit_id, a.chain, a.token ORDER BY a.deposit_id;
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION deposit_flushed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        PERFORM deposit_balances_add(t.deposit_id, t.chain, t.token, 0, sum(t.units))
        FROM after t WHERE t.state = 'confirmed'
        GROUP BY t.deposit_id, t.chain, t.token ORDER BY t.deposit_id;
    ELSIF TG_OP = 'DELETE' THEN
        PERFORM deposit_balances_add(t.deposit_id, t.chain, t.token, 0, -sum(t.units))
        FROM before t WHERE t.state = 'confirmed'
        GROUP BY t.deposit_id, t.chain, t.token ORDER BY t.deposit_id;
    ELSE
        PERFORM deposit_balances_add(a.deposit_id, a.chain, a.token, 0, sum(
            CASE WHEN a.state = 'confirmed' THEN a.units ELSE 0 END
            - CASE WHEN b.state = 'confirmed' THEN b.units ELSE 0 END))
        FROM before b JOIN after a ON a.id = b.id
        WHERE (a.state, a.units) IS DISTINCT FROM (b.state, b.units)
        GROUP BY a.deposit_id, a.chain, a.token ORDER BY a.deposit_id;
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION deposit_balances_add(of_deposit bigint, of_chain text, of_token text, came numeric, went numeric)
RETURNS void LANGUAGE sql AS $$
    INSERT INTO wallets_depositbalance AS kept (deposit_id, merchant_id, purpose, chain, token, received, flushed)
    SELECT d.id, d.merchant_id, d.purpose, of_chain, of_token, came, went
    FROM wallets_depositaddress d WHERE d.id = of_deposit AND (came <> 0 OR went <> 0)
    ON CONFLICT (deposit_id, chain, token) DO UPDATE
    SET received = kept.received + EXCLUDED.received, flushed = kept.flushed + EXCLUDED.flushed;
    INSERT INTO wallets_deposittotal AS kept (merchant_id, purpose, chain, token, received, flushed)
    SELECT d.merchant_id, d.purpose, of_chain, of_token, came, went
    FROM wallets_depositaddress d WHERE d.id = of_deposit AND (came <> 0 OR went <> 0)
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
"""

NO_TRIGGERS = """
DROP TRIGGER deposit_received_added ON wallets_transfer;
DROP TRIGGER deposit_received_removed ON wallets_transfer;
DROP TRIGGER deposit_received_changed ON wallets_transfer;
DROP TRIGGER deposit_flushed_added ON wallets_depositoutflow;
DROP TRIGGER deposit_flushed_removed ON wallets_depositoutflow;
DROP TRIGGER deposit_flushed_changed ON wallets_depositoutflow;
DROP FUNCTION deposit_received();
DROP FUNCTION deposit_flushed();
DROP FUNCTION deposit_balances_add(bigint, text, text, numeric, numeric);
"""

# Behind the triggers, which keep writers out until this is committed.
FILL = """
INSERT INTO wallets_depositbalance (deposit_id, merchant_id, purpose, chain, token, received, flushed)
SELECT d.id, d.merchant_id, d.purpose, t.chain, t.token, sum(t.units), 0
FROM wallets_transfer t JOIN wallets_depositaddress d ON d.id = t.deposit_id
WHERE t.mode = 'live' AND t.state = 'confirmed'
GROUP BY d.id, t.chain, t.token;
INSERT INTO wallets_deposittotal (merchant_id, purpose, chain, token, received, flushed)
SELECT merchant_id, purpose, chain, token, sum(received), sum(flushed) FROM wallets_depositbalance
GROUP BY merchant_id, purpose, chain, token;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0010_fees'),
        ('wallets', '0010_days'),
    ]

    operations = [
        migrations.CreateModel(
            name='DepositBalance',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('purpose', models.CharField(choices=[('checkout', 'Checkout'), ('x402', 'X402')], max_length=8)),
                ('chain', models.CharField(max_length=16)),
                ('token', models.CharField(max_length=12)),
                ('received', models.DecimalField(decimal_places=0, default=0, max_digits=96)),
                ('flushed', models.DecimalField(decimal_places=0, default=0, max_digits=96)),
                ('deposit', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='balances', to='wallets.depositaddress')),
                ('merchant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.merchant')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('received__gt', models.F('flushed'))), fields=['merchant', 'purpose', 'chain', 'token'], name='deposit_balance_waiting'), models.Index(condition=models.Q(('received__gt', models.F('flushed'))), fields=['chain', 'token', 'id'], name='deposit_balance_to_sweep')],
                'constraints': [models.UniqueConstraint(fields=('deposit', 'chain', 'token'), name='deposit_balance_once')],
            },
        ),
        migrations.CreateModel(
            name='DepositTotal',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('purpose', models.CharField(choices=[('checkout', 'Checkout'), ('x402', 'X402')], max_length=8)),
                ('chain', models.CharField(max_length=16)),
                ('token', models.CharField(max_length=12)),
                ('received', models.DecimalField(decimal_places=0, default=0, max_digits=96)),
                ('flushed', models.DecimalField(decimal_places=0, default=0, max_digits=96)),
                ('merchant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.merchant')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('merchant', 'purpose', 'chain', 'token'), name='deposit_total_once')],
            },
        ),
        migrations.RunSQL(TRIGGERS, NO_TRIGGERS),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
    ]
