"""How far a gas account's number may follow what nodes tell, who may be wrong or lie.

A number that is raised too far leaves a hole, which nothing that is sent later gets past: all settlement stops there. So it
is raised by little at a time, where two nodes say the same, and else a person is told (`manage.py gas_account`).
"""

from datetime import datetime
from typing import Final

import structlog
from django.db import transaction

from settlements.errors import NoGasError
from settlements.gas.alerts import (
    TELL_EVERY,
    tell_operators,
)
from settlements.gas.node import GasNode
from settlements.models import GasAccount
from wallets.networks import chain_spec

log = structlog.get_logger(__name__)

MOST_RAISED: Final = 1_000
"""By how much a number may follow its chain at once: as many transactions of a key that somebody else has as well."""

MOST_AT_FIRST: Final = 10_000_000
"""No account that pays for gas sent more before it came to us."""


def first_number(address: str, *, node: GasNode) -> int:
    """Return the next number of an account that the ledger does not know yet.

    Raises NoGasError where nodes do not agree or tell of more than any account has sent, and ChainError.
    """
    told = node.nonces(address)
    if min(told) != max(told) or max(told) > MOST_AT_FIRST:
        log.error("nodes tell no number to believe", account=address, told=list(told))
        raise NoGasError(f"nodes tell no number of {address} to believe")
    return told[0]


def follow_chain(account_id: int, *, node: GasNode, height: int, now: datetime) -> bool:
    """Go on after whoever else used the account's key, up to a final block; False where what nodes tell is not believed.

    Then nothing changes and operators are told, once a day. Raises ChainError.
    """
    account = GasAccount.objects.get(pk=account_id)
    known = account.next_nonce or 0
    if node.nonce(account.address, height=height) <= known:
        _forget_doubt(account, now)
        return True
    told = node.nonces(account.address, height=height)
    if min(told) != max(told) or max(told) > known + MOST_RAISED:
        _doubt(account_id, max(told), now)
        return False
    _raise(account_id, told[0])
    return True


@transaction.atomic
def _raise(account_id: int, used: int) -> None:
    account = GasAccount.objects.select_for_update(no_key=True).get(pk=account_id)
    account.next_nonce = max(account.next_nonce or 0, used)
    account.save(update_fields=["next_nonce"])


def _forget_doubt(account: GasAccount, now: datetime) -> None:
    """Nodes that take turns in telling it must not make a mail of each turn."""
    told_at = account.doubt_told_at
    if told_at is not None and now - told_at >= TELL_EVERY:
        GasAccount.objects.filter(pk=account.pk).update(doubt_told_at=None)


@transaction.atomic
def _doubt(account_id: int, told: int, now: datetime) -> None:
    account = GasAccount.objects.select_for_update(no_key=True).get(pk=account_id)
    log.error(
        "a gas account's number is in doubt",
        chain=account.chain,
        account=account.address,
        ours=account.next_nonce,
        told=told,
    )
    before = account.doubt_told_at
    if before is not None and now - before < TELL_EVERY:
        return
    account.doubt_told_at = now
    account.save(update_fields=["doubt_told_at"])
    title = chain_spec(account.chain).title
    tell_operators(
        f"gas-number:{account.pk}",
        subject=f"A gas account's number is in doubt on {title}",
        text=f"A node says that {account.address} has sent {told} transactions; the next number by our ledger is "
        f"{account.next_nonce}. That is not believed: either the node is wrong, or somebody else uses the key.\n\n"
        f"Look with: manage.py gas_account {account.chain} {account.address}\n",
        now=now,
    )
