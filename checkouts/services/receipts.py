"""Promising receipts by mail. What they say is found when they are sent: nobody waits for words while checkouts are locked."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db import connection

from checkouts.models import Checkout
from mails.services import ring_after_commit

# In test mode no money moves, and whoever holds a test key could have strangers mailed: only the team's own addresses are.
_PROMISE = """
    INSERT INTO mails_outgoingmail (key, recipient, subject, text, html, tries, created_at, due_at)
    SELECT 'receipt:' || paid.public_id, paid.email, '', '', '', 0, %(now)s::timestamptz, %(now)s::timestamptz
    FROM unnest(%(ids)s::text[], %(merchants)s::bigint[], %(modes)s::text[], %(emails)s::text[])
         AS paid (public_id, merchant_id, mode, email)
    JOIN accounts_merchant m ON m.id = paid.merchant_id AND m.mails_receipts
    WHERE paid.mode = 'live' OR EXISTS (
        SELECT FROM accounts_membership member JOIN accounts_user u ON u.id = member.user_id
        WHERE member.merchant_id = m.id AND lower(u.email) = lower(paid.email))
    ON CONFLICT (key) DO NOTHING
"""


def promise_receipts(completed: Iterable[Checkout], *, now: datetime) -> None:
    """Promise a mail for each checkout with a buyer's address whose merchant mails receipts, in the caller's transaction.

    Costs nothing where no buyer left an address, and one statement otherwise.
    """
    addressed = [checkout for checkout in completed if checkout.customer_email]
    if not addressed:
        return
    parameters: dict[str, Any] = {
        "now": now,
        "ids": [checkout.public_id for checkout in addressed],
        "merchants": [checkout.merchant_id for checkout in addressed],
        "modes": [str(checkout.mode) for checkout in addressed],
        "emails": [checkout.customer_email for checkout in addressed],
    }
    with connection.cursor() as cursor:
        cursor.execute(_PROMISE, parameters)
        is_any_new = cursor.rowcount > 0
    if is_any_new:
        ring_after_commit()
