"""Fees of payments, where the operator charges them: at completion, refunded when a reorg removes the payment; and merchants' plans."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from django.conf import settings
from django.db import connection, transaction

from accounts.audit.actors import Actor
from accounts.audit.service import record
from accounts.models import Merchant
from accounts.states import FeeKind, FeeTier
from gateway.core.daily_totals import SumTable, days_of

FEE_DAYS: Final = SumTable(
    "accounts_feeday",
    ("merchant_id", "day", "chain"),
    ("count", "amount"),
    raw=f"""
    SELECT merchant_id, (charged_at AT TIME ZONE 'UTC')::date AS day, chain,
           sum(1 - 2 * (number %% 2))::bigint AS count, sum(amount) AS amount
    FROM accounts_feeentry WHERE {days_of("charged_at")}
    GROUP BY 1, 2, 3
    """,  # noqa: S608 - only our own text is put in
)


# Without the setting an installation goes on as it did before there was one: it charged every merchant. A new installation
# has no merchant of that time, and charges none.
_CHARGES: Final = """
    COALESCE(%(charges_fees)s::boolean, EXISTS (SELECT FROM accounts_merchant WHERE charged_before))
"""


def charges_fees() -> bool:
    """Return whether this installation charges fees: `CHARGE_FEES`, or without that whether it did before that existed."""
    if settings.CHARGE_FEES is not None:
        return bool(settings.CHARGE_FEES)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {_CHARGES}", fee_parameters())
        (charges,) = cursor.fetchone() or (False,)
        return bool(charges)


def fee_parameters() -> dict[str, Any]:
    """Return the parameters of `insert_fees` beside `now`."""
    return {"charges_fees": settings.CHARGE_FEES}


@transaction.atomic
def set_plan(merchant_id: int, *, tier: FeeTier, rate: Decimal, actor: Actor, now: datetime) -> None:
    """Set a merchant's plan from now on; `rate` is a fraction. The same plan again changes nothing.

    Raises IntegrityError for a rate other than the plan's.
    """
    merchant = Merchant.objects.select_for_update(no_key=True).get(pk=merchant_id)
    before = _plan(merchant)
    merchant.fee_tier, merchant.fee_rate = tier, rate
    if _plan(merchant) == before:
        return
    merchant.save(update_fields=["fee_tier", "fee_rate"])
    record(
        merchant,
        action="merchant.plan_set",
        actor=actor,
        object_id=merchant.public_id,
        before=before,
        after=_plan(merchant),
        now=now,
    )


def _plan(merchant: Merchant) -> dict[str, str]:
    return {"plan": str(merchant.fee_tier), "rate": f"{merchant.fee_rate:.5f}"}


_FEE_OF: Final = "round(paid.received * m.fee_rate, 6)"
"""The fee of a payment, as SQL: the received amount times the rate of the merchant `m`, both numerics in USD.

Numerics multiply exactly, and half a millionth of a dollar is rounded up. Only statements round to cents, once.
"""


def insert_fees(paid: str) -> str:
    """Return SQL that charges the payments that `paid` selects, as part of the caller's statement, where fees are charged at all.

    `paid` selects merchant_id, kind, subject_id, chain, token and received. The same statement reads the rate, so a plan
    changes either before or after each payment, without a lock. Its parameters are `now` and `fee_parameters()`.
    """
    return f"""
        INSERT INTO accounts_feeentry
            (merchant_id, kind, subject_id, chain, token, received, rate, amount, charged_at)
        SELECT m.id, paid.kind, paid.subject_id, paid.chain, paid.token, paid.received, m.fee_rate, {_FEE_OF},
               %(now)s::timestamptz
        FROM ({paid}) paid JOIN accounts_merchant m ON m.id = paid.merchant_id
        WHERE {_CHARGES}
    """  # noqa: S608 - only our own text is put in


_COMPLETED: Final = """
    SELECT *
    FROM unnest(%(merchants)b::bigint[], %(kinds)b::text[], %(subjects)b::text[], %(chains)b::text[],
                %(tokens)b::text[], %(received)s::numeric[])
         AS paid (merchant_id, kind, subject_id, chain, token, received)
"""
_CHARGE: Final = f"{insert_fees(_COMPLETED)} ON CONFLICT (kind, subject_id, number) DO NOTHING"
# Inserts the reversing entry of each payment's last entry. Of two concurrent reversals, the key accepts one.
_TURN: Final = """
    INSERT INTO accounts_feeentry (merchant_id, kind, subject_id, number, corrects_id, chain, token, received, rate, amount,
                                   charged_at)
    SELECT merchant_id, kind, subject_id, number + 1, COALESCE(corrects_id, id), chain, token, -received, rate, -amount,
           %(now)s::timestamptz
    FROM (
        SELECT DISTINCT ON (subject_id) * FROM accounts_feeentry
        WHERE kind = %(kind)s AND subject_id = ANY(%(subjects)b::text[])
        ORDER BY subject_id, number DESC
    ) last
    WHERE number %% 2 = %(odd)s
    ON CONFLICT (kind, subject_id, number) DO NOTHING
"""


@dataclass(frozen=True, slots=True)
class CompletedPayment:
    """A completed payment of real money. `subject_id` is the public id of what was paid, `received` is in USD.

    `chain` and `token` are those of the transfer that completed it.
    """

    merchant_id: int
    kind: FeeKind
    subject_id: str
    chain: str
    token: str
    received: Decimal


def charge(payments: Sequence[CompletedPayment], *, now: datetime) -> None:
    """Write the fee of each payment at its merchant's current rate, in one statement of the caller's transaction.

    A payment that was charged already keeps its rate and its amount. Writes nothing where no fees are charged.
    """
    if not payments:
        return
    parameters: dict[str, Any] = {
        "now": now,
        "merchants": [payment.merchant_id for payment in payments],
        "kinds": [str(payment.kind) for payment in payments],
        "subjects": [payment.subject_id for payment in payments],
        "chains": [payment.chain for payment in payments],
        "tokens": [payment.token for payment in payments],
        "received": [payment.received for payment in payments],
        **fee_parameters(),
    }
    with connection.cursor() as cursor:
        cursor.execute(_CHARGE, parameters)


def void(kind: FeeKind, subject_ids: Iterable[str], *, now: datetime) -> None:
    """Refund the fees of payments that a reorg removed; `now` determines the month.

    It corrects what was charged, so also where no fees are charged any more. The caller holds the locks of the paid objects.
    """
    _turn(kind, subject_ids, now=now, is_taken_back=False)


def unvoid(kind: FeeKind, subject_ids: Iterable[str], *, now: datetime) -> None:
    """Charge again, at the first rate, payments that came back after `void`; locks as for `void`."""
    _turn(kind, subject_ids, now=now, is_taken_back=True)


def _turn(kind: FeeKind, subject_ids: Iterable[str], *, now: datetime, is_taken_back: bool) -> None:
    """Insert the reversing entry of each payment, if its last entry is (or is not) a refund, as the caller expects."""
    if not (ids := list(subject_ids)):
        return
    parameters: dict[str, Any] = {"kind": str(kind), "subjects": ids, "now": now, "odd": int(is_taken_back)}
    with connection.cursor() as cursor:
        cursor.execute(_TURN, parameters)
