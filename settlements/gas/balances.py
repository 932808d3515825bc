"""Reads gas accounts' balances, and warns operators of low ones."""

from datetime import datetime
from decimal import Decimal

import structlog
from django.db import transaction

from settlements.gas.alerts import (
    TELL_EVERY,
    tell_operators,
)
from settlements.gas.keys import gas_keys
from settlements.gas.node import GasNode
from settlements.gas.nonces import follow_chain
from settlements.gas.policy import COIN, gas_policy
from settlements.models import GasAccount
from wallets.networks import chain_spec

log = structlog.get_logger(__name__)


def refresh_balances(chain: str, *, node: GasNode, now: datetime) -> None:
    """Read the balances of a chain's gas accounts, check for nonces used elsewhere, and warn of low balances.

    Raises ChainError.
    """
    for address in gas_keys():
        GasAccount.objects.get_or_create(chain=chain, address=address)
    final = node.height() - chain_spec(chain).confirmations + 1
    for account in GasAccount.objects.filter(chain=chain):
        _note(account.pk, node.balance(account.address), now)
        # Only final ones: a nonce that a reorg frees again would leave a gap that blocks all later transactions.
        if final >= 0 and account.next_nonce is not None:
            follow_chain(account.pk, node=node, height=final, now=now)


@transaction.atomic
def _note(account_id: int, balance: int, now: datetime) -> None:
    account = GasAccount.objects.select_for_update(no_key=True).get(pk=account_id)
    account.balance_wei, account.balance_at = Decimal(balance), now
    is_low = balance < gas_policy(account.chain).low and account.retired_at is None
    if is_low and _is_untold(account, now):
        _tell_operators(account, now)
        account.low_told_at = now
    account.save(update_fields=["balance_wei", "balance_at", "low_told_at"])


def _is_untold(account: GasAccount, now: datetime) -> bool:
    return account.low_told_at is None or now - account.low_told_at >= TELL_EVERY


def _tell_operators(account: GasAccount, now: datetime) -> None:
    title = chain_spec(account.chain).title
    coins = Decimal(account.balance_wei or 0) / COIN
    log.warning("gas runs low", chain=account.chain, account=account.address)
    tell_operators(
        f"gas:{account.pk}",
        subject=f"Gas runs low on {title}",
        text=f"{account.address} holds {coins:.6f} of {title}'s coin. Without enough for gas, nothing is settled "
        "there and payments by signed authorisation are refused.\n\n"
        "Send coin to it. No payment is lost: money waits in its forwarders.\n",
        now=now,
    )
