"""`manage.py gas_account CHAIN ADDRESS`: show or repair a gas account's nonce."""

from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from settlements.errors import NoGasError
from settlements.gas.ledger import open_transactions
from settlements.gas.node import GasNode, gas_node
from settlements.gas.repair import Repair, RepairError, agreed_number, plan_repair, repair
from settlements.models import GasAccount
from settlements.sweeps.plan import forwarder_chains
from wallets.chains.base import ChainError

_MOST_SHOWN: Final = 10


class Command(BaseCommand):
    """Shows the nonce and the nodes' answers, and repairs an account whose transactions are stuck."""

    help = (
        "Show a gas account's next nonce and what every node reports. --resync sets it to the nonce on the chain, and sends "
        "empty transactions for nonces missing below unfinished ones. It changes nothing without --yes."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the arguments: the account, and whether to repair it."""
        parser.add_argument("chain", help="a chain's name, such as base")
        parser.add_argument("address", help="the account's address")
        parser.add_argument("--resync", action="store_true")
        parser.add_argument("--yes", action="store_true", help="make the change")

    def handle(self, *args: Any, chain: str, address: str, resync: bool, yes: bool, **options: Any) -> None:
        """Show, and repair if asked. Raises CommandError if that is impossible."""
        account = self._find(chain, address)
        try:
            with gas_node(chain) as node:
                told = node.polled_nonces(account.address)
                self._show(account, told)
                if resync:
                    self._repair(account, told, node, is_sure=yes)
        except (ChainError, NoGasError, RepairError) as error:
            raise CommandError(str(error)) from error

    def _find(self, chain: str, address: str) -> GasAccount:
        if chain not in {spec.name for spec in forwarder_chains()}:
            raise CommandError(f"{chain} has no node or no forwarders.")
        found = GasAccount.objects.filter(chain=chain, address__iexact=address).first()
        if found is None or found.next_nonce is None:
            raise CommandError("There is no such gas account, or it has sent nothing yet.")
        return found

    def _show(self, account: GasAccount, told: Sequence[tuple[str, int]]) -> None:
        waiting = open_transactions(account.chain).filter(account=account)
        numbers = list(waiting.values_list("nonce", flat=True)[: _MOST_SHOWN + 1])
        shown = ", ".join(map(str, numbers[:_MOST_SHOWN])) or "none"
        more = ", ..." if len(numbers) > _MOST_SHOWN else ""
        self.stdout.write(f"Next nonce in the ledger: {account.next_nonce}.")
        self.stdout.write(f"Not final yet: {shown}{more}.")
        for label, number in told:
            self.stdout.write(f"{label}: {number} transactions in the chain.")

    def _repair(self, account: GasAccount, told: Sequence[tuple[str, int]], node: GasNode, *, is_sure: bool) -> None:
        used = agreed_number(told)
        if not is_sure:
            found = plan_repair(account, used)
            self.stdout.write(f"With --yes, the account would continue with {_words(found)}. Nothing was changed.")
            return
        found = repair(account.pk, used, node=node, now=timezone.now())
        self.stdout.write(f"The account continues with {_words(found)}.")


def _words(found: Repair) -> str:
    if not found.holes:
        return f"nonce {found.next_nonce}"
    return (
        f"nonce {found.next_nonce}, after {len(found.holes)} empty transactions ({found.holes[0]} to {found.holes[-1]})"
    )
