"""`manage.py demo_x402`: buy the demo's report as a machine does, with play money."""

import json
from argparse import ArgumentParser
from decimal import Decimal
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from demo.machines import payer, report_price
from demo.management.commands.demo_pay import local_demo, refuse_real_money
from demo.payments import chain_entry
from demo.wallets.base import WalletError


class Command(BaseCommand):
    """Sends a real transfer on the local Base, and prints what it bought and the receipt."""

    help = (
        "Ask for the running demo's report, pay what its answer 402 asks for on the local Base, and ask again with the"
        " proof. Prints each step, the report and the receipt."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        chains = [report_price.CHAIN]
        parser.add_argument("--chain", default=report_price.CHAIN, metavar="NAME", choices=chains)

    def handle(self, *args: Any, chain: str, **options: Any) -> None:
        """Buy the report. Raises CommandError with the reason if that fails."""
        demo = local_demo(chain)
        try:
            entry = chain_entry(demo, chain)
            refuse_real_money(entry)
            bought = payer.buy(demo.report_url, entry, most=Decimal("0.05"), say=self.stdout.write)
        except WalletError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"Report   {json.dumps(bought.report)}")
        self.stdout.write(f"Receipt  {json.dumps(bought.receipt)}")
