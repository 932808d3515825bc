"""A payer who signs a test checkout's payment, for Florin to send without a network fee."""

from typing import Any

from django.test import override_settings
from eth_account import Account

from accounts.states import Mode
from tests.contract.client import Answer, ApiClient, client_of
from tests.contract.provoking import Case, Send, refusals

AUTHORIZATION = "/checkouts/{checkout_id}/authorization"
PAYER = Account.from_key("0x" + "17" * 32)

free_on_base = override_settings(GAS_FREE=["base"], GAS_KEYS=["0x" + "5a" * 32])
"""The operator pays the network on Base."""


def authorize(client: ApiClient, body: Any = None, **extra: Any) -> Answer:
    """Ask what the payer signs, or send another body."""
    assert client.merchant is not None
    client = client_of(client.merchant, Mode.TEST)
    path = f"/checkouts/{client.created()['id']}/authorization"
    asked = {"chain": "base", "account": PAYER.address} if body is None else body
    return client.send("POST", path, asked, **extra)


@free_on_base
def signed(client: ApiClient, *, key: bytes | None = None) -> Answer:
    """Ask, sign and send the signature; return the last answer."""
    assert client.merchant is not None
    client = client_of(client.merchant, Mode.TEST)
    path = f"/checkouts/{client.created()['id']}/authorization"
    offered = client.post(path, {"chain": "base", "account": PAYER.address}).body
    signature = Account.sign_typed_data(key or PAYER.key, full_message=offered["typed_data"]).signature
    return client.post(path, {"ticket": offered["ticket"], "signature": "0x" + bytes(signature).hex()})


def signed_by_another(client: ApiClient) -> Answer:
    """The signature is of another key."""
    return signed(client, key=b"\x18" * 32)


AUTHORIZATIONS: dict[Case, Send] = {
    ("post", AUTHORIZATION, 200): free_on_base(authorize),
    ("post", AUTHORIZATION, 400): signed_by_another,
    ("post", AUTHORIZATION, 409): authorize,
    ("post", AUTHORIZATION, 413): lambda client: authorize(client, b" " * (256 * 1024 + 1)),
    ("post", AUTHORIZATION, 415): lambda client: authorize(client, b"x", content_type="text/plain"),
    **refusals("POST", "/checkouts/x/authorization", AUTHORIZATION, 60),
}
