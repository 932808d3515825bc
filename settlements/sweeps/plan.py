"""Plans sweeps: groups waiting forwarders into batches of flush calls, stored as settlements before anything is sent."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Exists, OuterRef

from accounts.states import Mode
from gateway.core import leases
from gateway.core.ids import new_id
from gateway.core.money import TOKEN_DECIMALS
from settlements.gas.fees import COIN, Prices, coin_usd, gas_facts
from settlements.gas.ledger import GasCall
from settlements.models import Settlement, SettlementItem, TroubledForwarder
from settlements.states import Sender
from wallets.chains.family import ChainSpec
from wallets.forwarders.addresses import FACTORY_ADDRESS, checksum, keccak
from wallets.models import DepositBalance
from wallets.networks import chain_spec, watched_chains
from wallets.states import ClaimKind

FLUSH: Final = keccak(b"flush(address,bytes32,address)")[:4]
FLUSH_MANY: Final = keccak(b"flush_many((address,bytes32)[],address)")[:4]
FACTORY: Final = checksum(FACTORY_ADDRESS)

MOST_ITEMS: Final = 150
"""The contract's limit of items per call."""

BATCH_GAS: Final = 12_000_000
"""No node accepts a transaction of more than 2**24 gas (EIP-7825), and one that big waits for room in a block."""

TRANSACTION_GAS: Final = 60_000
FIRST_GAS: Final = 77_000
"""Gas of an item whose forwarder is deployed with it, to a wallet that never held the token: 72,000 was measured."""

AGAIN_GAS: Final = 18_000
"""Gas of an item whose forwarder is deployed already: 14,800 was measured."""

# The contract stops if less than this is left for each item, so that no estimate starves a token's transfer.
FLOOR_GAS: Final = 330_000

_SPARE_NUMERATOR: Final = 13
_SPARE_DENOMINATOR: Final = 10
_WORD: Final = 32
# At most what a transaction has beside its data.
_ENVELOPE_BYTES: Final = 150

_USD_UNITS: Final = 10**TOKEN_DECIMALS

MOST_LOOKED_AT: Final = 3_000
"""How many forwarders of one token a run looks at: the next run sees the others."""


def forwarder_chains() -> list[ChainSpec]:
    """Return the chains with forwarders and nodes."""
    return [spec for spec in watched_chains() if spec.family.has_forwarders]


def fee_chains() -> list[ChainSpec]:
    """Return the chains with nodes but without forwarders on which we pay network fees for machines."""
    return [spec for spec in watched_chains() if spec.gas is not None and not spec.family.has_forwarders]


def alone(work: str) -> AbstractContextManager[bool]:
    """Take the lease of `work` for a task's time limit; yield False if another process has it.

    Running twice is harmless: it only doubles the requests to nodes.
    """
    return leases.alone(f"settlements:{work}", seconds=settings.CELERY_TASK_TIME_LIMIT)


@dataclass(frozen=True, slots=True)
class Item:
    """A forwarder to empty: its derivation, balance, and whether it was emptied before."""

    deposit_id: int
    merchant_id: int
    purpose: str
    destination: bytes
    nonce: bytes
    units: int
    is_deployed: bool

    @property
    def gas(self) -> int:
        """Return the approximate gas of emptying it."""
        return AGAIN_GAS if self.is_deployed else FIRST_GAS


def batches(items: Iterable[Item], *, gas: int = BATCH_GAS) -> Iterator[list[Item]]:
    """Group items into batches that fill a transaction's gas; items with the same destination are adjacent.

    A transfer to a wallet that the same transaction paid already is cheaper.
    """
    batch: list[Item] = []
    used = TRANSACTION_GAS
    for item in sorted(items, key=lambda item: (item.destination, item.deposit_id)):
        if batch and (used + item.gas > gas or len(batch) == MOST_ITEMS):
            yield batch
            batch, used = [], TRANSACTION_GAS
        batch.append(item)
        used += item.gas
    if batch:
        yield batch


def gas_of(items: Sequence[Item]) -> int:
    """Return a batch's approximate gas."""
    return TRANSACTION_GAS + sum(item.gas for item in items)


def batch_gas(chain: str) -> int:
    """Return the countable gas of a full batch. Where its bytes take gas too, half of it leaves room for them below 2**24."""
    return BATCH_GAS // 2 if gas_facts(chain).byte_gas else BATCH_GAS


def gas_limit_of(items: Sequence[Item]) -> int:
    """Return a batch's gas limit without that of its bytes: tokens with block lists and fees cost more than others.

    Unused gas is not paid. If it is slightly too low, the contract reverts the whole batch.
    """
    return gas_of(items) * _SPARE_NUMERATOR // _SPARE_DENOMINATOR + FLOOR_GAS


def gas_within(chain: str, limit: int) -> int:
    """Return the countable gas of a batch whose limit must not exceed `limit`; at most that of a full batch."""
    counted = (limit - FLOOR_GAS) * _SPARE_DENOMINATOR // _SPARE_NUMERATOR
    # An item's 64 bytes take up to four times what its transfer does.
    return min(batch_gas(chain), counted // 5 if gas_facts(chain).byte_gas else counted)


def calldata(items: Sequence[Item], token: bytes) -> bytes:
    """Return the factory's call that empties these forwarders of a token (20 bytes of its contract)."""
    if len(items) == 1:
        item = items[0]
        return FLUSH + _padded(item.destination) + item.nonce + _padded(token)
    listed = b"".join(_padded(item.destination) + item.nonce for item in items)
    offset = 2 * _WORD
    return b"".join((FLUSH_MANY, _number(offset), _padded(token), _number(len(items)), listed))


def _padded(address: bytes) -> bytes:
    return address.rjust(_WORD, b"\0")


def _number(value: int) -> bytes:
    return value.to_bytes(_WORD, "big")


@dataclass(frozen=True, slots=True)
class SweepCost:
    """An approximate cost: in wei, and in the token's base units."""

    gas: int
    wei: int
    units: int


def quote(chain: str, gas: int, prices: Prices) -> SweepCost:
    """Return the cost of gas at a chain's current prices."""
    wei = gas * (prices.base_fee + prices.tip)
    usd = Decimal(wei) * coin_usd(chain) / COIN
    return SweepCost(gas, wei, int(usd * _USD_UNITS))


def worthwhile(chain: str, items: Sequence[Item], prices: Prices) -> list[Item]:
    """Drop items whose own gas exceeds SWEEP_MOST_COST of their balance: they wait for more money, or cheaper gas."""
    most = Decimal(settings.SWEEP_MOST_COST)
    return [item for item in items if quote(chain, gas_of([item]), prices).units <= most * item.units]


def is_worthwhile(chain: str, items: Sequence[Item], prices: Prices) -> bool:
    """Whether a batch's gas costs at most SWEEP_MOST_COST of its total balance.

    What a chain counts as gas for a batch's bytes is left out: its price follows Ethereum's, and is not read here. With all the room
    that a `byte_gas` of 1,000 leaves for it at 0.01 gwei, it is a cent for one forwarder and a quarter of a cent for each other
    one. Counting that room would hold back balances that are worth their gas. No limit is passed: the ledger counts gas limits,
    which have the room.
    """
    units = sum(item.units for item in items)
    most = Decimal(settings.SWEEP_MOST_COST) * units
    return quote(chain, gas_of(items), prices).units <= most


@dataclass(frozen=True, slots=True)
class WaitingFilter:
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
    # Whether the settlement is automatic.
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


def waiting_items(wanted: WaitingFilter, *, now: datetime, most: int = MOST_LOOKED_AT) -> list[Item]:
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
    wanted: WaitingFilter, items: Sequence[Item], *, now: datetime, sender: Sender = Sender.GATEWAY
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
    data = calldata(items, contract)
    return GasCall(FACTORY, data, gas_limit_of(items) + gas_facts(chain).byte_gas * (len(data) + _ENVELOPE_BYTES))
