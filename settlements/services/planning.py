"""What waits in forwarders, put together into batches and written down as settlements before anything is sent."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from django.db import connection, transaction

from accounts.states import Mode
from gateway.core.ids import new_id
from settlements.flushing import Item
from settlements.models import Settlement, SettlementItem
from settlements.states import Sender
from wallets.forwarder import checksum
from wallets.states import ClaimKind

MOST_LOOKED_AT: Final = 3_000
"""Forwarders that one run looks at, for one token: the next run sees the others."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Which forwarders to look at: all of a chain and token, or those of one merchant or purpose."""

    chain: str
    token: str
    merchant_id: int | None = None
    purpose: ClaimKind | None = None


# Locked, so that two runs do not put the same forwarders into two batches; whoever comes second passes them over. What our
# books say is final: what came since stays for the next time, and is sent on with the rest all the same.
_WAITING: Final = """
    SELECT d.id, d.merchant_id, b.purpose, d.destination, d.nonce, (b.received - b.flushed)::text, b.flushed > 0
    FROM wallets_depositbalance b JOIN wallets_depositaddress d ON d.id = b.deposit_id
    WHERE b.chain = %(chain)s AND b.token = %(token)s AND b.received > b.flushed
      AND (%(merchant)s::bigint IS NULL OR b.merchant_id = %(merchant)s)
      AND (%(purpose)s::text IS NULL OR b.purpose = %(purpose)s)
      AND NOT EXISTS (SELECT FROM settlements_settlementitem i
                      WHERE i.deposit_id = b.deposit_id AND i.chain = b.chain AND i.token = b.token
                        AND i.ended_at IS NULL)
      AND NOT EXISTS (SELECT FROM settlements_hold h WHERE h.nonce = d.nonce AND h.released_at IS NULL)
    ORDER BY b.received - b.flushed DESC, b.id LIMIT %(most)s
    FOR NO KEY UPDATE OF b SKIP LOCKED
"""


def waiting_items(wanted: Waiting, *, most: int = MOST_LOOKED_AT) -> list[Item]:
    """Return forwarders that hold something and may be emptied, the fullest first, locked for the caller's transaction.

    Those in an open settlement and those held in escrow are left out.
    """
    parameters: dict[str, Any] = {
        "chain": wanted.chain,
        "token": wanted.token,
        "merchant": wanted.merchant_id,
        "purpose": wanted.purpose,
        "most": most,
    }
    with connection.cursor() as cursor:
        cursor.execute(_WAITING, parameters)
        return [
            Item(pk, merchant, purpose, bytes(to), bytes(nonce), int(units), deployed)
            for pk, merchant, purpose, to, nonce, units, deployed in cursor
        ]


@transaction.atomic
def write_batch(
    wanted: Waiting,
    items: Sequence[Item],
    *,
    now: datetime,
    sender: Sender = Sender.GATEWAY,
) -> list[Settlement]:
    """Write a batch as one settlement for each merchant, purpose and destination in it; nothing is sent by this.

    Raises IntegrityError where one of the forwarders got into another open settlement meanwhile.
    """
    batch = new_id("bat")
    groups: dict[tuple[int, str, bytes], list[Item]] = defaultdict(list)
    for item in items:
        groups[item.merchant_id, item.purpose, item.destination].append(item)
    settlements = [
        Settlement(
            merchant_id=merchant_id,
            mode=Mode.LIVE,
            purpose=purpose,
            chain=wanted.chain,
            token=wanted.token,
            to=checksum(destination),
            units=Decimal(sum(item.units for item in group)),
            sender=sender,
            batch=batch,
            created_at=now,
        )
        for (merchant_id, purpose, destination), group in groups.items()
    ]
    Settlement.objects.bulk_create(settlements)
    SettlementItem.objects.bulk_create(
        SettlementItem(
            settlement=settlement,
            deposit_id=item.deposit_id,
            chain=wanted.chain,
            token=wanted.token,
            units=Decimal(item.units),
        )
        for settlement, group in zip(settlements, groups.values(), strict=True)
        for item in group
    )
    return settlements
