"""Rechecks machines' payments that were verified while their transfer was processed, or have no transfer at all.

Also finds payments whose money was flushed to the merchant's own wallet.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import connection, transaction

from accounts.states import Mode
from wallets.chains.base import PARTS_FROM, FoundTransaction
from wallets.lookup import ask_again, look_up_on
from wallets.models import AccountCursor, ChainCursor
from wallets.networks import chain_spec, chains, reads_accounts
from wallets.transfers.service import put_on_queue
from x402.models import X402Payment
from x402.payments.transfers import follow_transfers, reverse

# A flush takes the whole balance: money of an earlier block is gone with it. For money of the same block, only an empty
# forwarder proves it.
_ARRIVED: Final = """
    WITH arrived AS (
        SELECT p.id FROM x402_payment p JOIN wallets_transfer t ON t.id = p.transfer_id
        WHERE t.deposit_id IS NOT NULL AND p.mode = 'live' AND p.status = 'verified' AND p.final_at IS NOT NULL
          AND EXISTS (
            SELECT FROM wallets_depositoutflow o
            WHERE o.deposit_id = t.deposit_id AND o.chain = t.chain AND o.token = t.token AND o.state = 'confirmed'
              AND (o.block_height > t.block_height OR o.block_height = t.block_height AND EXISTS (
                  SELECT FROM wallets_depositbalance b
                  WHERE b.deposit_id = t.deposit_id AND b.chain = t.chain AND b.token = t.token
                    AND b.received <= b.flushed)))
        -- Whoever follows a transfer just now has its payment: the next run sees to it.
        ORDER BY p.id FOR NO KEY UPDATE OF p SKIP LOCKED
    )
    UPDATE x402_payment p SET status = 'settled', settled_at = %(now)s::timestamptz
    FROM arrived WHERE p.id = arrived.id
"""

PATIENCE: Final = timedelta(minutes=15)
"""How long a watcher that read past a payment without recording it has to read it again."""

_GRACE: Final = timedelta(minutes=1)
# Watchers record a payment within a few seconds.
_SOON: Final = timedelta(seconds=15)
_MOST_AT_ONCE: Final = 20


def note_arrivals(*, now: datetime) -> int:
    """Mark final payments settled that were flushed, by anyone; return how many. Idempotent."""
    parameters: dict[str, Any] = {"now": now}
    with connection.cursor() as cursor:
        cursor.execute(_ARRIVED, parameters)
        return int(cursor.rowcount)


# Of two releases, one recorded the money as a sum, the other in parts; the transfer stands for no payment yet.
_IS_READ_OTHERWISE: Final = f"""
    p.transfer_id IS NULL AND (t.position >= {PARTS_FROM}) <> (p.position >= {PARTS_FROM})
    AND NOT EXISTS (SELECT FROM wallets_transferclaim c WHERE c.transfer_id = t.id)
"""
# The processor of the transfer may have missed a payment that was about to be committed.
_UNSEEN: Final = f"""
    SELECT t.id
    FROM wallets_transfer t JOIN x402_payment p
        ON t.chain = p.chain AND t.tx_hash = p.tx_hash AND (t.position = p.position OR {_IS_READ_OTHERWISE})
    WHERE p.mode = 'live' AND p.final_at IS NULL AND p.reversed_at IS NULL
      AND t.recipient = p.pay_to AND t.token = p.token AND t.purpose = 'x402' AND t.queued_at IS NULL
      AND (p.transfer_id IS NULL OR t.state <> 'detected')
"""  # noqa: S608 - only our own text is put in


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
        mode=Mode.LIVE, chain=chain, transfer=None, final_at=None, reversed_at=None, verified_at__lt=now - _SOON
    )
    found = rows.order_by("pk")[:_MOST_AT_ONCE]
    return _reverse([one.pk for one in found if _is_gone(one, now)], now)


def _is_gone(payment: X402Payment, now: datetime) -> bool:
    """Whether a payment is on its chain no more, by the chain's nodes. A transaction they still know is read again, and waited for.

    One whose transaction failed in another block is gone at once: nothing of it can be recorded.
    """
    read = _read_through(payment)
    if read is None or payment.block_height is None or read < payment.block_height:
        return False
    age = now - payment.verified_at
    final_at = payment.block_height + chain_spec(payment.chain).confirmations
    was_passed = read >= final_at and age > _GRACE
    if was_passed and age > PATIENCE:
        return True
    looked = look_up_on(payment.chain, payment.tx_hash)
    if any(_has_failed(found) for found in looked.transactions):
        return True
    if not was_passed:
        return False
    for found in looked.transactions:
        ask_again(found, now=now)
    return not looked.transactions and not looked.unasked


def _has_failed(found: FoundTransaction) -> bool:
    return found.block_height is not None and not found.succeeded


def _read_through(payment: X402Payment) -> int | None:
    """Return how far a payment's chain has been read; None if that says nothing about the payment."""
    spec = chain_spec(payment.chain)
    cursor = ChainCursor.objects.filter(chain=payment.chain, halted_reason="").first()
    if cursor is None or cursor.first_height is None or payment.block_height is None:
        return None
    if cursor.first_height > payment.block_height:
        return None
    if not reads_accounts(spec):
        height: int | None = cursor.height
        return height
    accounts = AccountCursor.objects.filter(chain=payment.chain, address=payment.pay_to)
    return accounts.values_list("height", flat=True).first()


@transaction.atomic
def _reverse(ids: Sequence[int], now: datetime) -> int:
    rows = X402Payment.objects.filter(pk__in=ids, transfer=None, reversed_at=None)
    payments = list(rows.order_by("pk").select_for_update(no_key=True))
    reverse(payments, now=now)
    return len(payments)
