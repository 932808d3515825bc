"""What provokes each response of the API of terminals."""

from decimal import Decimal

from django.utils import timezone

from accounts.audit.actors import SYSTEM
from checkouts.models import Terminal
from checkouts.till.pairing import revoke_terminal
from checkouts.till.service import Press, sell
from gateway.core.ids import new_code
from tests.contract.client import Answer, ApiClient
from tests.contract.provoking import Case, Send, body_refusals, refusals, used_key

PATH, ITEM = "/terminals", "/terminals/{terminal_id}"
PAIR, REVOKE, SALES = ITEM + "/pair", ITEM + "/revoke", ITEM + "/sales"
NEW = {"name": "Bar", "tips": [5, 10], "chain": "base", "shows_day": True, "has_sign": True}


def add(client: ApiClient) -> str:
    """The path of a new terminal."""
    return f"{PATH}/{client.post(PATH, NEW).body['id']}"


def list_terminals(client: ApiClient) -> Answer:
    add(client)
    return client.get(PATH)


def pair_revoked(client: ApiClient) -> Answer:
    path = add(client)
    revoke_terminal(Terminal.objects.get(), actor=SYSTEM, now=timezone.now())
    return client.send("POST", path + "/pair")


def revoke_with_a_used_key(client: ApiClient) -> Answer:
    path = add(client) + "/revoke"
    client.send("POST", path, b"", HTTP_IDEMPOTENCY_KEY="k")
    return client.send("POST", path, {"another": "body"}, HTTP_IDEMPOTENCY_KEY="k")


def list_sales(client: ApiClient) -> Answer:
    """A list with a sale of 7.50 USD, of which 0.50 are a tip."""
    path = add(client)
    press = Press(form=new_code(), price=Decimal("7.00"), tip=Decimal("0.50"))
    sell(Terminal.objects.get().pk, press, now=timezone.now())
    answer = client.get(path + "/sales")
    assert answer.body["data"]
    return answer


def list_no_sales(client: ApiClient) -> Answer:
    return client.get(add(client) + "/sales", {"limit": 0})


TILLS: dict[Case, Send] = {
    ("post", PATH, 201): lambda client: client.post(PATH, NEW),
    ("post", PATH, 409): used_key(PATH, NEW),
    **refusals("POST", PATH, PATH, 60),
    **body_refusals("POST", PATH, lambda client: PATH),
    ("get", PATH, 200): list_terminals,
    ("get", PATH, 400): lambda client: client.get(PATH, {"limit": 0}),
    **refusals("GET", PATH, PATH, 60),
    ("get", ITEM, 200): lambda client: client.get(add(client)),
    **refusals("GET", PATH + "/x", ITEM, 60),
    ("post", PAIR, 201): lambda client: client.send("POST", add(client) + "/pair"),
    ("post", PAIR, 409): pair_revoked,
    **refusals("POST", PATH + "/x/pair", PAIR, 60),
    ("post", REVOKE, 200): lambda client: client.send("POST", add(client) + "/revoke"),
    ("post", REVOKE, 409): revoke_with_a_used_key,
    **refusals("POST", PATH + "/x/revoke", REVOKE, 60),
    ("get", SALES, 200): list_sales,
    ("get", SALES, 400): list_no_sales,
    **refusals("GET", PATH + "/x/sales", SALES, 60),
}
