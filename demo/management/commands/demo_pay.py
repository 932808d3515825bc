"""`manage.py demo_pay`: pay a checkout of the demo from a wallet with play money."""

import os
from argparse import ArgumentParser
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from demo.closed import closed_option
from demo.families import DEMO_CHAINS
from demo.gateway_api import GatewayError
from demo.payments import Wish, chain_entry, pay_checkout, pay_option
from demo.settings_file import DemoSettings, read_settings
from demo.wallets.base import ChainEntry, WalletError
from wallets.chains.family import Network

LOOPBACK = {"127.0.0.1", "localhost", "::1"}


class Command(BaseCommand):
    """Sends a real transfer on a local chain and prints only the transaction's hash."""

    help = (
        "Pay a checkout of the running demo on one of its local chains: exactly what the checkout asks for, with the"
        " reference or comment that its payment link names. With --amount, like a payer who copied the address by"
        " hand. Prints the transaction's hash."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("checkout_id")
        names = [facts.name for facts in DEMO_CHAINS]
        parser.add_argument("--chain", required=True, metavar="NAME", choices=names)
        parser.add_argument("--token", default="", help="USDC or USDT")
        parser.add_argument("--amount", default="", help="in tokens, as 12.34")
        parser.add_argument("--comment", default="", help="on TON and Solana")

    def handle(
        self, *args: Any, checkout_id: str, chain: str, token: str, amount: str, comment: str, **options: Any
    ) -> None:
        """Pay the checkout. Raises CommandError with the reason if that fails."""
        wish = Wish(chain, token=token, amount=amount, comment=comment)
        try:
            demo = local_demo(chain)
            refuse_real_money(chain_entry(demo, chain))
            tx_hash = self._pay(demo, checkout_id, wish)
        except (WalletError, GatewayError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(tx_hash)

    def _pay(self, demo: DemoSettings, checkout_id: str, wish: Wish) -> str:
        try:
            return pay_checkout(demo, checkout_id, wish)
        except GatewayError as error:
            if error.code != "state_conflict":
                raise
            self.stderr.write(f"{error} Paying anyway.")
        option = closed_option(checkout_id, wish.chain)
        return pay_option(demo.chains[wish.chain], option, wish)


def local_demo(chain: str) -> DemoSettings:
    """Return the running demo. Raises CommandError if there is none, or a chain is not local."""
    path = settings.VAR_DIR / "demo.json"
    try:
        demo = read_settings(path)
    except (FileNotFoundError, ValueError, KeyError) as error:
        message = f"No demo was started: {path} does not describe one."
        raise CommandError(message) from error
    if {demo.network, wanted_network(chain)} != {Network.LOCAL}:
        message = "The demo's wallet pays only on local networks."
        raise CommandError(message)
    return demo


def wanted_network(chain: str) -> str:
    """Return the network set in our environment; "local" if none is set."""
    general = os.environ.get("CHAIN_NETWORK") or Network.LOCAL
    return os.environ.get(f"CHAIN_{chain.upper()}_NETWORK") or general


def refuse_real_money(entry: ChainEntry) -> None:
    """Raise CommandError unless the chain's nodes are on this machine."""
    for name in ("rpc_url", "node_url"):
        if urlsplit(entry[name]).hostname not in LOOPBACK:
            message = "The demo's wallet uses only nodes on this machine."
            raise CommandError(message)
