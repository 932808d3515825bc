"""What provokes each response of the API of watched wallets."""

from datetime import timedelta

from django.db import connection
from django.utils import timezone

from tests.contract.client import Answer, ApiClient
from tests.contract.provoking import Case, Send, body_refusals, refusals
from tests.factories import WALLET
from tests.wallets.days import make_movement
from wallets.models import WatchedWallet
from wallets.watched.service import MOST_WATCHED, expect_payouts

PATH, ITEM = "/wallets", "/wallets/{wallet_id}"
LIST = ITEM + "/transactions"
NEW = {"chain": "base", "address": WALLET, "label": "Payroll", "tags": ["eu"]}

_CROWD = """
    INSERT INTO wallets_watchedwallet (public_id, merchant_id, mode, chain, address, key, label, tags, status, history_error, created_at)
    SELECT 'wal_' || n, %s, 'live', 'base', n::text, n::text::bytea, '', '{}', 'active', '', now()
    FROM generate_series(1, %s) AS n
"""


def watch(client: ApiClient) -> str:
    """The path of a new wallet."""
    return f"{PATH}/{client.post(PATH, NEW).body['id']}"


def watch_twice(client: ApiClient) -> Answer:
    watch(client)
    return client.post(PATH, NEW)


def watch_too_many(client: ApiClient) -> Answer:
    assert client.merchant is not None
    with connection.cursor() as cursor:
        cursor.execute(_CROWD, [client.merchant.pk, MOST_WATCHED])
    return client.post(PATH, NEW)


def list_wallets(client: ApiClient) -> Answer:
    watch(client)
    return client.get(PATH)


def list_movements(client: ApiClient) -> Answer:
    path = watch(client)
    make_movement(WatchedWallet.objects.get())
    answer = client.get(path + "/transactions")
    assert answer.body["data"]
    return answer


def remove_while_it_pays(client: ApiClient) -> Answer:
    """Stop watching a wallet from which a payout may leave."""
    path = watch(client)
    expect_payouts([WatchedWallet.objects.get().pk], until=timezone.now() + timedelta(hours=1))
    return client.send("DELETE", path)


def on_wallet(method: str, body: object = None) -> Send:
    return lambda client: client.send(method, watch(client), body)


WALLETS: dict[Case, Send] = {
    ("post", PATH, 201): lambda client: client.post(PATH, NEW),
    ("post", PATH, 200): watch_twice,
    ("post", PATH, 409): watch_too_many,
    **refusals("POST", PATH, PATH, 60),
    **body_refusals("POST", PATH, lambda client: PATH),
    ("get", PATH, 200): list_wallets,
    ("get", PATH, 400): lambda client: client.get(PATH, {"chain": "x"}),
    **refusals("GET", PATH, PATH, 60),
    ("get", ITEM, 200): on_wallet("GET"),
    **refusals("GET", "/wallets/x", ITEM, 60),
    ("patch", ITEM, 200): on_wallet("PATCH", {"label": "Wages"}),
    **refusals("PATCH", "/wallets/x", ITEM, 60),
    **body_refusals("PATCH", ITEM, watch),
    # A PATCH without a label or tags changes nothing, and is no mistake.
    ("patch", ITEM, 400): on_wallet("PATCH", {"label": 1}),
    ("delete", ITEM, 204): on_wallet("DELETE"),
    ("delete", ITEM, 409): remove_while_it_pays,
    **refusals("DELETE", "/wallets/x", ITEM, 60),
    ("get", LIST, 200): list_movements,
    ("get", LIST, 400): lambda client: client.get(watch(client) + "/transactions", {"direction": "up"}),
    **refusals("GET", "/wallets/x/transactions", LIST, 60),
}
