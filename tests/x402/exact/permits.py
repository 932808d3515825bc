"""A merchant whose machines pay in USDT, which has no authorisations of its own, by Permit2."""

from dataclasses import dataclass
from typing import Any

from accounts.states import Mode
from localnet.anvil import Anvil
from localnet.permit2 import EXTRA, UPTO_PROXY, Permit, allow, lay_permit2, lay_usdt, permit
from tests.contract.client import ApiClient, client_of
from tests.factories import make_live_chain, make_merchant, make_wallet
from tests.x402.exact.bodies import RESOURCE, body_of
from tests.x402.payers import pay_to_of
from wallets.models import ChainCursor
from wallets.selectors import forget


@dataclass(frozen=True)
class Stall:
    """A live key of a merchant, the node of the only chain that can be asked, where it is paid there, and USDT."""

    client: ApiClient
    node: Anvil
    chain: str
    pay_to: str
    usdt: str


def open_stall(settings: Any, node: Anvil, chain: str) -> Stall:
    """Set everything up; the node's payer has allowed Permit2 all of its USDT."""
    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = {f"{chain.upper()}_RPC_URLS": node.url}
    settings.GAS_KEYS = [node.accounts[3].key]
    settings.GAS_DAILY_COINS = {chain: "100"}
    ChainCursor.objects.all().delete()
    make_live_chain(chain, height=None, head=None)
    merchant = make_merchant()
    make_wallet(merchant, chain)
    forget()
    usdt = lay_usdt(node)
    lay_permit2(node)
    allow(node, usdt)
    client = client_of(merchant, Mode.LIVE)
    return Stall(client, node, chain, pay_to_of(client, chain), usdt)


def permit_body(told: Permit, chain_id: int, **changes: Any) -> dict[str, Any]:
    """The body of `/verify` and `/settle`; `changes` are of the requirements."""
    told_extra: dict[str, Any] = {"extra": EXTRA}
    return body_of(told, told.token, chain_id=chain_id, **(told_extra | changes))


def maximum(stall: Stall, most: int, **changes: Any) -> Permit:
    """Sign a maximum of USDT for the gas account (scheme `upto`)."""
    named: dict[str, Any] = {"facilitator": stall.node.accounts[3].address, "spender": UPTO_PROXY}
    return permit(stall.node, stall.usdt, stall.pay_to, most, **(named | changes))


def upto_body(told: Permit, chain_id: int, units: int | None = None) -> dict[str, Any]:
    """The body of `/verify`, or of `/settle` for so many units of the maximum, as published middlewares send them."""
    body = permit_body(told, chain_id, scheme="upto")
    if units is not None:
        body["paymentRequirements"] = body["paymentRequirements"] | {"amount": str(units)}
    return body


def first_of(body: dict[str, Any], network: str) -> dict[str, Any]:
    """The same in the standard's first version."""
    wanted = dict(body["paymentRequirements"]) | {
        "network": network,
        "maxAmountRequired": body["paymentRequirements"]["amount"],
        "resource": RESOURCE,
        "description": "",
    }
    payload = {"x402Version": 1, "scheme": "exact", "network": network, "payload": body["paymentPayload"]["payload"]}
    return {"x402Version": 1, "paymentPayload": payload, "paymentRequirements": wanted}
