"""Buyers on a local Base with USDC and no coin, who sign what the page offers."""

from dataclasses import dataclass
from typing import Any

from django.test import Client
from eth_account import Account

from checkouts.models import Checkout
from localnet.anvil import Anvil
from localnet.tokens import mint
from tests.checkouts.page.buyers import ask
from wallets.chains.evm.authorizations.terms import BY_KEY

PRICE = 25_000_000


@dataclass(frozen=True)
class Payer:
    """An account, and the key that signs for it: its own, or that of a contract wallet's owner."""

    address: str
    key: str
    chain: str = "base"

    def offered(self, client: Client, checkout: Checkout, **body: Any) -> Any:
        """The answer to the question what to sign."""
        return ask(client, checkout, chain=self.chain, account=self.address, free=True, **body)

    def signature(self, typed: dict[str, Any]) -> str:
        """What the wallet makes of typed data."""
        return "0x" + bytes(Account.sign_typed_data(self.key, full_message=typed).signature).hex()

    def transfer(self, typed: dict[str, Any]) -> bytes:
        """The call of the token that carries out what the payer signs, by whoever sends it."""
        told, raw = typed["message"], bytes.fromhex(self.signature(typed)[2:])
        parties, end = (told["from"], told["to"]), int(told["validBefore"])
        terms = (*parties, int(told["value"]), 0, end, bytes.fromhex(told["nonce"][2:]))
        return BY_KEY.call(*terms, raw[64], raw[:32], raw[32:64])

    def signed(self, client: Client, checkout: Checkout, offer: dict[str, Any], *, more: str = "") -> Any:
        """The answer to the signature of an offer; `more` is what a contract wallet's has behind it."""
        signature = self.signature(offer["typed_data"]) + more
        return ask(client, checkout, action="signed", ticket=offer["ticket"], signature=signature)

    def pay(self, client: Client, checkout: Checkout) -> Any:
        """Ask, sign and send; return the last answer."""
        return self.signed(client, checkout, self.offered(client, checkout).json())


def new_payer(node: Anvil, usdc: str, units: int = PRICE, *, chain: str = "base") -> Payer:
    """Somebody with USDC and not one wei."""
    made = Account.create()
    if units:
        mint(node, usdc, made.address, units)
    assert int(node.rpc("eth_getBalance", made.address, "latest"), 16) == 0
    return Payer(made.address, made.key.hex(), chain)
