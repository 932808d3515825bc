"""A machine that pays for the demo's report, by the payer of florin_x402."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from demo.machines import report_price
from demo.wallet import one_at_a_time
from demo.wallets.base import ChainEntry, WalletError
from florin_x402.evm import EvmWallet
from florin_x402.payer import Order, PaidButUnservedError, PayerError, PaymentWanted, Served, pay_and_retry
from florin_x402.wire import decode


@dataclass(frozen=True)
class Bought:
    """What was paid for, and the server's receipt."""

    report: dict[str, Any]
    receipt: dict[str, Any]


def buy(url: str, entry: ChainEntry, *, most: Decimal, say: Callable[[str], object]) -> Bought:
    """Pay for the report, at most so much. Raises `WalletError`."""
    wallet = _TellingWallet(_wallet(entry), say)
    say(f"Asking   {url}")
    try:
        # Only one payment of this wallet at a time: two would take the same nonce.
        with one_at_a_time(entry):
            served = pay_and_retry(Order(url, most=most), wallet)
    except (PayerError, PaidButUnservedError) as error:
        raise WalletError(str(error)) from error
    return _bought(served)


def _bought(served: Served) -> Bought:
    if served.status != 200 or served.proof is None:
        message = f"The report's server answered {served.status}."
        raise WalletError(message)
    receipt = decode(served.headers["x-payment-response"])
    return Bought(json.loads(served.body), receipt)


def _wallet(entry: ChainEntry) -> EvmWallet:
    return EvmWallet(
        key=entry["funded_private_key"],
        rpc_url=entry["node_url"],
        chain_id=entry["chain_id"],
        network=report_price.CHAIN,
        token=report_price.TOKEN,
        contract=entry["tokens"][report_price.TOKEN],
    )


class _TellingWallet:
    """A wallet that prints each step."""

    def __init__(self, wallet: EvmWallet, say: Callable[[str], object]) -> None:
        self._wallet = wallet
        self._say = say
        self.address = wallet.address
        self.can_pay = wallet.can_pay

    def pay(self, wanted: PaymentWanted, *, sent: Callable[[str], None]) -> str:
        """Send the payment, and print it."""
        asked = f"{wanted.amount} {wanted.token} on {wanted.network}"
        self._say(f"Price    {asked} to {wanted.pay_to}")
        tx_hash = self._wallet.pay(wanted, sent=sent)
        self._say(f"Paid     {tx_hash}")
        return tx_hash

    def sign(self, message: str) -> str:
        """Sign the proof, so that only this payer can use it."""
        self._say("Waiting  until the payment is deep enough")
        return self._wallet.sign(message)
