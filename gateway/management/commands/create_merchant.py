"""`manage.py create_merchant`: create a merchant that can take payments, and an owner who can log in."""

import getpass
import sys
from argparse import ArgumentParser
from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils import timezone

from accounts.audit.actors import Actor
from accounts.keys.scopes import preset_powers
from accounts.keys.service import create_api_key
from accounts.login.people import create_person
from accounts.merchants.service import BUYERS_MAY_RETRY, MAILS_RECEIPTS, create_merchant, turn
from accounts.models import Merchant, User
from accounts.states import Mode, Preset
from gateway.core.api.errors import GatewayError
from wallets.receiving.inspection import inspect
from wallets.receiving.service import set_receiving_wallet
from webhooks.endpoints.secrets import ensure_secret
from webhooks.endpoints.service import set_default_url


class Command(BaseCommand):
    """Creates a merchant, its owner, its wallets, its webhook URL and a key for each mode; prints the keys once."""

    help = (
        "Create a merchant with an owner, receiving wallets, a webhook URL and API keys."
        " The owner's password is asked for, or read from standard input."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the arguments: the owner, the wallets and the webhook URL."""
        parser.add_argument("name", help="the business, as buyers see it")
        parser.add_argument("owner", help="the owner's e-mail address")
        parser.add_argument(
            "--wallet",
            action="append",
            default=[],
            metavar="CHAIN=ADDRESS",
            help="the receiving wallet on a chain, for example base=0x…; repeat it for more chains",
        )
        parser.add_argument(
            "--contract-wallet",
            action="append",
            default=[],
            metavar="CHAIN",
            help="confirm that the wallet on this chain is a contract which the merchant controls there, such as a Safe",
        )
        parser.add_argument("--webhook-url", default="", help="the URL that receives events")
        parser.add_argument(
            "--buyers-may-retry", action="store_true", help="let buyers restart an expired checkout at the same price"
        )
        parser.add_argument(
            "--mail-receipts", action="store_true", help="mail a receipt to buyers with an e-mail address"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Create everything, or nothing."""
        password = _password()
        try:
            wallets = [_inspected(wallet, options) for wallet in options["wallet"]]
            with transaction.atomic():
                merchant = self._create(options, wallets, password, timezone.now())
        except GatewayError as error:
            raise CommandError(error.message) from error
        self.stdout.write(f"Created {merchant.public_id} ({merchant.name}).")

    def _create(
        self, options: dict[str, Any], wallets: list[tuple[str, str]], password: str, now: datetime
    ) -> Merchant:
        if User.objects.filter(email__iexact=options["owner"]).exists():
            raise CommandError(f"A person with the address {options['owner']} already exists.")
        owner = Actor(create_person(options["owner"], password))
        merchant = create_merchant(name=options["name"], actor=owner, now=now)
        for switch, option in ((BUYERS_MAY_RETRY, "buyers_may_retry"), (MAILS_RECEIPTS, "mail_receipts")):
            turn(merchant, switch, to=options[option], now=now, actor=owner)
        for chain, address in wallets:
            set_receiving_wallet(merchant, chain=chain, address=address, now=now, actor=owner)
        if options["webhook_url"]:
            for mode in Mode:
                set_default_url(merchant, mode=mode, url=options["webhook_url"], now=now, actor=owner)
        self._show_keys(merchant, owner, now)
        return merchant

    def _show_keys(self, merchant: Merchant, owner: Actor, now: datetime) -> None:
        for mode in Mode:
            powers = preset_powers(Preset.EVERYTHING)
            _, key = create_api_key(merchant, mode=mode, name="first", powers=powers, now=now, actor=owner)
            self.stdout.write(f"{mode.label} key (shown once): {key}")
        self.stdout.write(f"Webhook secret: {ensure_secret(merchant, now=now)}")


def _inspected(wallet: str, options: dict[str, Any]) -> tuple[str, str]:
    """Return a wallet's chain and address once the chain said what it is. Raises GatewayError, CommandError."""
    chain, _, address = wallet.partition("=")
    found = inspect(chain, address, now=timezone.now())
    if found.warning and chain not in options["contract_wallet"]:
        raise CommandError(f"{found.warning} Confirm it with --contract-wallet {chain}.")
    return chain, found.address


def _password() -> str:
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\n")
    password = getpass.getpass("Password of the owner: ")
    if password != getpass.getpass("Again: "):
        raise CommandError("The two passwords differ.")
    return password
