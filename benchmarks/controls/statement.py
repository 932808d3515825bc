"""The tuned control's one statement: the three rows, nothing else."""

CREATE = """
WITH created AS (
    INSERT INTO checkouts_checkout (
        public_id, code, merchant_id, mode, status, exception, amount, currency, description, metadata,
        customer_email, redirect_url, webhook_url, customer_ref, product_ref, order_ref, creation_ref, offers,
        deposit_nonce, amount_received, underpaid_reported, event_count, test_scenario, expires_at, created_at)
    VALUES ($1, $2, $3, 'live', 'pending', '', $4, 'USD', $5, $6, '', $7, '', $8, $9, $10, $10, $11::jsonb, $12,
            0, 0, 0, '', $13, $14)
), address AS (
    INSERT INTO wallets_depositaddress (key, destination, nonce, merchant_id, mode, created_at, watched_until)
    VALUES ($15, $16, $12, $3, 'live', $14, $13)
)
INSERT INTO checkouts_checkoutcount (merchant_id, mode, status, value) VALUES ($3, 'live', 'pending', 1)
"""
