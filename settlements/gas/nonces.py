"""Limits on the nonce a node may report for a gas account; nodes may be wrong or lie.

A nonce raised too far leaves a gap that blocks all later transactions, and so all settlements. So it is raised in small
steps that two nodes confirm; otherwise a person decides (`manage.py gas_account`).
"""

from datetime import datetime, timedelta
from typing import Final

import structlog
from django.db import transaction

from accounts.team.operators import mail_operators
from settlements.errors import NoGasError
from settlements.gas.node import GasNode
from settlements.models import GasAccount
from wallets.networks import chain_spec

log = structlog.get_logger(__name__)

TELL_EVERY: Final = timedelta(days=1)
"""The minimum time between two mails to operators about the same thing."""

MOST_RAISED: Final = 1_000
"""How far a nonce may be raised at once: as many transactions of a key that is used elsewhere as well."""

MOST_AT_FIRST: Final = 10_000_000
"""The highest first nonce: no gas account sent more before it was added."""


def first_nonce(address: str, *, node: GasNode) -> int:
    """Return the next nonce of an account that is new to the ledger.

    Raises NoGasError if nodes disagree or report an implausible nonce, and ChainError.
    """
    told = node.nonces(address)
    if min(told) != max(told) or max(told) > MOST_AT_FIRST:
        log.error("no trustworthy nonce", account=address, told=list(told))
        raise NoGasError(f"no trustworthy nonce for {address}: the nodes disagree, or name an implausible one")
    return told[0]


def follow_chain(account_id: int, *, node: GasNode, height: int, now: datetime) -> bool:
    """Raise an account's nonce past other users of its key, up to a final block; False if the nodes are not believed.

    Then nothing changes and operators get a mail, once a day. Raises ChainError.
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
    """Clear the doubt, but not so often that alternating nodes cause a mail each time."""
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
    mail_operators(
        f"gas-number:{account.pk}:{now:%Y%m%dT%H%M%S}",
        subject=f"A gas account's number is in doubt on {title}",
        text=f"A node says that {account.address} has sent {told} transactions; the next number by our ledger is "
        f"{account.next_nonce}. We ignore this nonce: the node is wrong, or another program uses the key.\n\n"
        f"Look with: manage.py gas_account {account.chain} {account.address}\n",
        now=now,
    )
