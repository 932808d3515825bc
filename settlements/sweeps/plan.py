"""Plans sweeps: groups waiting forwarders into batches, stored as settlements before anything is sent."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from django.db import connection, transaction
from django.db.models import Exists, OuterRef

from accounts.states import Mode
from gateway.core.ids import new_id
from settlements.gas.ledger import GasCall
from settlements.models import Settlement, SettlementItem, TroubledForwarder
from settlements.states import Sender
from settlements.sweeps.calls import FACTORY, Item, calldata, gas_limit_of
from wallets.forwarders.addresses import checksum
from wallets.models import DepositBalance
from wallets.networks import chain_spec
from wallets.states import ClaimKind

MOST_LOOKED_AT: Final = 3_000
"""How many forwarders of one token a run looks at: the next run sees the others."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Which forwarders to look at: all of a chain and token, or those of one merchant or purpose.

    `owners`, pairs of a merchant's id and a purpose, restricts the owners if given. A browser wallet, which pays its own
    gas, may include those that failed before.
    """

    chain: str
    token: str
    merchant_id: int | None = None
    purpose: ClaimKind | None = None
    owners: Sequence[tuple[int, str]] | None = None
    with_troubled: bool = False
    # Whether it is automatic.
    is_scheduled: bool = False


MAY_BE_EMPTIED: Final = """
    NOT EXISTS (SELECT FROM settlements_settlementitem i
                WHERE i.deposit_id = b.deposit_id AND i.chain = b.chain AND i.token = b.token AND i.ended_at IS NULL)
    AND NOT EXISTS (SELECT FROM settlements_settlementitem i
                    WHERE i.deposit_id = b.deposit_id AND i.chain = b.chain AND i.token = b.token
                      AND i.units_moved > 0 AND i.ended_at > %(now)s::timestamptz - interval '1 day'
                      AND NOT EXISTS (SELECT FROM settlements_settledoutflow s
                                      JOIN wallets_depositoutflow o ON o.id = s.outflow_id
                                      WHERE s.settlement_id = i.settlement_id AND o.deposit_id = i.deposit_id))
    AND NOT EXISTS (SELECT FROM settlements_hold h WHERE h.nonce = d.nonce AND h.released_at IS NULL)
    AND (%(with_troubled)s OR NOT EXISTS (
        SELECT FROM settlements_troubledforwarder f
        WHERE f.deposit_id = b.deposit_id AND f.chain = b.chain AND f.token = b.token
          AND (f.failures >= %(most_failures)s OR f.retry_at > %(now)s::timestamptz)))
"""
"""Excludes forwarders that are being settled, are empty before their watcher has seen it, are held in escrow, or failed recently
or too often. For a balance `b` and its address `d`."""

# Locked, so that two runs do not take the same forwarders; the second run skips them. Balances in our books are final:
# newer money is sent along, but counted the next time.
_WAITING: Final = f"""
    SELECT d.id, d.merchant_id, b.purpose, d.destination, d.nonce, (b.received - b.flushed)::text, b.flushed > 0
    FROM wallets_depositbalance b JOIN wallets_depositaddress d ON d.id = b.deposit_id
    WHERE b.chain = %(chain)s AND b.token = %(token)s AND b.received > b.flushed
      AND (%(merchant)s::bigint IS NULL OR b.merchant_id = %(merchant)s)
      AND (%(purpose)s::text IS NULL OR b.purpose = %(purpose)s)
      AND (%(merchants)s::bigint[] IS NULL
           OR (b.merchant_id, b.purpose) IN (SELECT * FROM unnest(%(merchants)s::bigint[], %(purposes)s::text[])))
      AND {MAY_BE_EMPTIED}
    ORDER BY b.received - b.flushed DESC, b.id LIMIT %(most)s
    FOR NO KEY UPDATE OF b SKIP LOCKED
"""  # noqa: S608 - constants of ours


def waiting_items(wanted: Waiting, *, now: datetime, most: int = MOST_LOOKED_AT) -> list[Item]:
    """Return forwarders with a balance that may be emptied, fullest first, locked for the caller's transaction.

    Those that `MAY_BE_EMPTIED` excludes are left out.
    """
    owners = wanted.owners
    parameters: dict[str, Any] = {
        "chain": wanted.chain,
        "token": wanted.token,
        "merchant": wanted.merchant_id,
        "purpose": wanted.purpose,
        "merchants": None if owners is None else [owner for owner, _ in owners],
        "purposes": None if owners is None else [purpose for _, purpose in owners],
        "with_troubled": wanted.with_troubled,
        "most_failures": TroubledForwarder.MOST_FAILURES,
        "now": now,
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
    wanted: Waiting, items: Sequence[Item], *, now: datetime, sender: Sender = Sender.GATEWAY
) -> list[Settlement]:
    """Store a batch as one settlement for each merchant, purpose and destination; nothing is sent.

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
            is_scheduled=wanted.is_scheduled,
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


def planned_items(batch: str) -> list[Item]:
    """Return the items that a stored batch still has to empty, in its call's order."""
    emptied = DepositBalance.objects.filter(
        deposit=OuterRef("deposit"), chain=OuterRef("chain"), token=OuterRef("token"), flushed__gt=0
    )
    rows = (
        SettlementItem.objects.filter(settlement__batch=batch, ended_at=None)
        .select_related("deposit", "settlement")
        .annotate(was_emptied=Exists(emptied))
        .order_by("deposit__destination", "deposit_id")
    )
    return [
        Item(
            deposit_id=row.deposit_id,
            merchant_id=row.settlement.merchant_id,
            purpose=row.settlement.purpose,
            destination=bytes(row.deposit.destination),
            nonce=bytes(row.deposit.nonce),
            units=int(row.units),
            is_deployed=row.was_emptied,
        )
        for row in rows
    ]


def call_of(chain: str, token: str, items: Sequence[Item]) -> GasCall:
    """Return the factory's call that empties these forwarders.

    Its gas is calculated. A node would estimate the least with which the batch "succeeds" although single items run out of gas.
    The contract requires enough for a token transfer before each item, and reverts the whole batch otherwise.
    """
    contract = bytes.fromhex(chain_spec(chain).tokens[token].address[2:])
    return GasCall(FACTORY, calldata(items, contract), gas_limit_of(items))
