"""Rechecks machines' payments that were verified while their transfer was processed, or have no transfer at all."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from django.db import connection, transaction

from accounts.states import Mode
from wallets.lookup import ask_again, look_up_on
from wallets.models import AccountCursor, ChainCursor
from wallets.networks import chain_spec, chains, reads_accounts
from wallets.transfers.queue import put_on_queue
from x402.models import X402Payment
from x402.payments.transfers import (
    follow_transfers,
    reverse,
)

PATIENCE: Final = timedelta(minutes=15)
"""How long a watcher that read past a payment without recording it has to read it again."""

_GRACE: Final = timedelta(minutes=1)
_MOST_AT_ONCE: Final = 20

# The processor of the transfer may have missed a payment that was about to be committed.
_UNSEEN: Final = """
    SELECT t.id
    FROM wallets_transfer t JOIN x402_payment p
        ON t.chain = p.chain AND t.tx_hash = p.tx_hash AND t.position = p.position
    WHERE p.mode = 'live' AND p.final_at IS NULL AND p.reversed_at IS NULL
      AND t.recipient = p.pay_to AND t.token = p.token AND t.purpose = 'x402' AND t.queued_at IS NULL
      AND (p.transfer_id IS NULL OR t.state <> 'detected')
"""


def recheck_payments(*, now: datetime) -> int:
    """Follow payments whose transfers were processed too early, and reverse those that no watcher has recorded.

    A node that lies to a verification must not give resources away for ever. Returns how many were reversed.
    """
    with connection.cursor() as cursor:
        cursor.execute(_UNSEEN)
        unseen = [pk for (pk,) in cursor.fetchall()]
    if unseen and put_on_queue(unseen, now=now):
        follow_transfers(now=now)
    return sum(_recheck_chain(name, now) for name in chains())


def _recheck_chain(chain: str, now: datetime) -> int:
    rows = X402Payment.objects.filter(
        mode=Mode.LIVE,
        chain=chain,
        transfer=None,
        final_at=None,
        reversed_at=None,
        verified_at__lt=now - _GRACE,
    )
    found = list(rows.order_by("pk")[:_MOST_AT_ONCE])
    passed = [one for one in found if _was_passed(one)]
    return _reverse([one.pk for one in passed if _is_gone(one, now)], now)


def _was_passed(payment: X402Payment) -> bool:
    """Whether its chain has been read up to where the payment would be final."""
    spec = chain_spec(payment.chain)
    cursor = ChainCursor.objects.filter(chain=payment.chain, halted_reason="").first()
    if cursor is None or cursor.first_height is None or payment.block_height is None:
        return False
    through: int | None = cursor.height
    if reads_accounts(spec):
        accounts = AccountCursor.objects.filter(
            chain=payment.chain, address=payment.pay_to
        )
        through = accounts.values_list("height", flat=True).first()
    final_at = payment.block_height + spec.confirmations
    return (
        through is not None
        and cursor.first_height <= payment.block_height
        and (through >= final_at)
    )


def _is_gone(payment: X402Payment, now: datetime) -> bool:
    """Ask the chain's nodes again; a transaction they still know is read again, and waited for."""
    if now - payment.verified_at > PATIENCE:
        return True
    looked = look_up_on(payment.chain, payment.tx_hash)
    for found in looked.transactions:
        ask_again(found, now=now)
    return not looked.transactions and not looked.unasked


@transaction.atomic
def _reverse(ids: Sequence[int], now: datetime) -> int:
    rows = X402Payment.objects.filter(pk__in=ids, transfer=None, reversed_at=None)
    payments = list(rows.order_by("pk").select_for_update(no_key=True))
    reverse(payments, now=now)
    return len(payments)
