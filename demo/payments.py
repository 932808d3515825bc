"""Paying a checkout as a buyer with a good wallet does: choose the option, then send what it asks for."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from demo.gateway_api import GatewayApi
from demo.settings_file import DemoSettings
from demo.wallet import pay
from demo.wallets.base import ChainEntry, WalletError
from wallets.chains.registry import family_called


@dataclass(frozen=True)
class Wish:
    """How to pay; what is empty follows the option.

    A wallet that opens the payment link writes the link's reference and comment beside the transfer. With a typed
    `amount` the address was copied by hand, so only `comment` is written then.
    """

    chain: str
    token: str = ""
    amount: str = ""
    comment: str = ""


def pay_checkout(settings: DemoSettings, checkout_id: str, wish: Wish) -> str:
    """Pay a checkout of the demo merchant; returns the transaction's hash.

    Raises `WalletError`, and `GatewayError` where the option cannot be chosen.
    """
    entry = chain_entry(settings, wish.chain)
    api = GatewayApi(settings.base_url, settings.credentials.live_key)
    path = f"/checkouts/{quote(checkout_id, safe='')}/options"
    choice = {"chain": wish.chain, "token": token_of(entry, wish)}
    return pay_option(entry, api.post(path, choice), wish)


def token_of(entry: ChainEntry, wish: Wish) -> str:
    """The symbol to pay with: the chain's first one unless another is wished for."""
    return wish.token or str(next(iter(entry["tokens"])))


def chain_entry(settings: DemoSettings, name: str) -> ChainEntry:
    """What var/demo.json says of a chain. Raises `WalletError` when the demo does not run it."""
    entry = settings.chains.get(name)
    if entry is None:
        message = "The demo runs no such chain."
        raise WalletError(message)
    return entry


def pay_option(entry: ChainEntry, option: dict[str, Any], wish: Wish) -> str:
    """Send what a chosen option asks for, or what `wish` says instead. Raises `WalletError`."""
    link = parse_qs(urlsplit(option["paymentUri"] or "").query)
    by_hand = bool(wish.amount)
    return pay(
        entry,
        token=token_of(entry, wish),
        to=option["address"],
        amount=wish.amount or option["payAmount"],
        reference="" if by_hand else link.get("reference", [""])[0],
        comment=wish.comment or ("" if by_hand else _comment(entry, link)),
    )


def _comment(entry: ChainEntry, link: dict[str, list[str]]) -> str:
    """What the link asks to be written beside the transfer."""
    family = family_called(entry["kind"])
    return link.get("text", [""])[0] if family.carries_memo else ""
