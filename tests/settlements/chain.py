"""A local Base whose forwarders are paid, read by a watcher and emptied."""

import secrets
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from accounts.models import Merchant
from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.tokens import token_address
from settlements.gas.node import GasNode
from settlements.gas.upkeep import tend
from settlements.sweeps.plan import WaitingFilter
from settlements.sweeps.service import resume
from tests.nodes.proxy import Ask, Fault, one_by_one
from tests.wallets.factories import address_of, make_deposit, make_watcher, read_all
from tests.wallets.paying import transfer, transfer_many
from wallets.models import DepositAddress

USDC = token_address("USDC")
WAITING = WaitingFilter("base", "USDC")
CONFIRMATIONS = 6
LATE = timedelta(minutes=2)
ABSURD = 2**62


def read(node: Anvil) -> None:
    """Let a watcher read what is on the chain, all of it final."""
    node.mine(CONFIRMATIONS)
    watcher = make_watcher(node.url)
    read_all(watcher)
    watcher.close()


def paid(node: Anvil, *units: int, merchant: Merchant | None = None) -> list[DepositAddress]:
    """Deposit addresses that a watcher saw being paid for good."""
    watcher = make_watcher(node.url)
    read_all(watcher)
    watcher.close()
    deposits = []
    for amount in units:
        deposit = make_deposit(merchant)
        transfer(node, payer(node), USDC, address_of(deposit), amount)
        deposits.append(deposit)
    read(node)
    return deposits


def paid_together(node: Anvil, count: int, *, merchant: Merchant, units: int) -> list[DepositAddress]:
    """Many deposit addresses, each for a wallet that never held the token, paid by one transaction and read."""
    deposits = [make_deposit(merchant, destination="0x" + secrets.token_hex(20)) for _ in range(count)]
    payments = [(address_of(deposit), units) for deposit in deposits]
    transfer_many(node, payer(node), USDC, payments)
    read(node)
    return deposits


def look(node: GasNode, *, now: datetime | None = None) -> None:
    """Let everybody look once, as the task does."""
    moment = now or timezone.now()
    tend("base", node=node, now=moment)
    resume("base", node=node, now=moment)


def settle(node: GasNode, base_node: Anvil) -> None:
    """Let the chain grow until all is final, and everybody look."""
    base_node.mine(CONFIRMATIONS)
    look(node)


def tells(count: int) -> Fault:
    """Every account has sent so many, and nobody knows any receipt."""

    def answer(request: Any, ask: Ask) -> Any:
        lies: dict[str, object] = {"eth_getTransactionCount": hex(count), "eth_getTransactionReceipt": None}
        told = ask(request)
        if request["method"] in lies:
            told["result"] = lies[request["method"]]
        return told

    return one_by_one(answer)
