"""What an operator does by hand: repairs a gas account's nonce, and takes a gas key out of use."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final

import structlog
from django.db import transaction
from django.db.models import Count, Q, QuerySet

from settlements.errors import NoGasError
from settlements.gas.fees import COIN, Fees, first_fees, gas_policy
from settlements.gas.keys import gas_keys
from settlements.gas.ledger import write_attempt
from settlements.gas.node import GasNode
from settlements.gas.nonces import MOST_RAISED
from settlements.gas.upkeep import make_empty
from settlements.models import GasAccount, GasTransaction
from settlements.states import ON_THEIR_WAY, Purpose, TransactionState

log = structlog.get_logger(__name__)

MOST_FILLED: Final = 2 * MOST_RAISED
"""How many empty transactions one repair sends at most."""


class RepairError(Exception):
    """The account cannot be repaired now; the message says why."""


@dataclass(frozen=True, slots=True)
class Repair:
    """The plan of a repair: the next nonce, and the nonces that empty transactions fill first."""

    used: int
    next_nonce: int
    holes: Sequence[int]


def agreed_number(told: Sequence[tuple[str, int]]) -> int:
    """Return the nonce that all nodes report. Raises RepairError if they differ."""
    numbers = {number for _, number in told}
    if len(numbers) != 1:
        raise RepairError("The nodes report different nonces. Remove the wrong node.")
    return numbers.pop()


def plan_repair(account: GasAccount, used: int) -> Repair:
    """Return the repair of an account with `used` mined transactions. Raises RepairError."""
    rows = GasTransaction.objects.filter(account=account, nonce__gte=used)
    states = dict(rows.values_list("nonce", "state"))
    upto = max(states, default=used - 1) + 1
    if upto - used > MOST_FILLED + len(states):
        raise RepairError(f"More than {MOST_FILLED} nonces are missing in a row.")
    taken = {number for number, state in states.items() if state != TransactionState.DROPPED}
    holes = [number for number in range(used, upto) if number not in taken]
    return Repair(used, upto, holes)


def repair(account_id: int, used: int, *, node: GasNode, now: datetime) -> Repair:
    """Reset the account's nonce, and fill the gaps below; pending transactions stay.

    Raises RepairError, NoGasError if gas for a gap is not available, and ChainError.
    """
    account = GasAccount.objects.get(pk=account_id)
    most = gas_policy(account.chain).max_fee
    fees = first_fees(node.prices(), most=most)
    with transaction.atomic():
        locked = GasAccount.objects.select_for_update(no_key=True).get(pk=account_id)
        found = plan_repair(locked, used)
        _fill(locked, found.holes, fees, now)
        before, locked.next_nonce = locked.next_nonce, found.next_nonce
        locked.doubt_told_at = None
        locked.save(update_fields=["next_nonce", "doubt_told_at"])
    log.warning(
        "a gas account's nonce was set by an operator",
        chain=locked.chain,
        account=locked.address,
        before=before,
        after=found.next_nonce,
        used=used,
        filled=len(found.holes),
    )
    return found


def _fill(account: GasAccount, holes: Sequence[int], fees: Fees | None, now: datetime) -> None:
    if not holes:
        return
    if fees is None:
        raise NoGasError("gas costs more than GAS_MAX_GWEI allows")
    for number in holes:
        row = _empty_row(account, number, now)
        write_attempt(row, fees, number=row.attempts.count() + 1, now=now)


def _empty_row(account: GasAccount, number: int, now: datetime) -> GasTransaction:
    """Return an empty transaction for a nonce; one that was given up too early is reused."""
    row, _ = GasTransaction.objects.select_related("account").get_or_create(
        account=account,
        nonce=number,
        defaults={
            "purpose": Purpose.CANCEL,
            "reference": f"hole:{account.pk}:{number}",
            "data": b"",
            "gas_limit": 0,
            "most_wei": 0,
            "created_at": now,
        },
    )
    # First clear its reference, which may belong to another transaction by now.
    make_empty(row)
    row.state, row.sent_at = TransactionState.INTENDED, None
    row.save(update_fields=["state", "sent_at"])
    return row


@dataclass(frozen=True, slots=True)
class Leaving:
    """A gas account that is retired, or has no key any more: its pending transactions, and the coins left there."""

    chain: str
    address: str
    has_key: bool
    open: int
    coins: Decimal | None


@transaction.atomic
def retire(address: str, *, chains: Sequence[str], now: datetime, dry_run: bool = False) -> int:
    """Give a key's accounts no new transactions on these chains; return how many accounts are newly retired.

    Raises NoGasError if it is no key of GAS_KEYS, or if the others are retired too.
    """
    keys = {key.lower(): key for key in gas_keys()}
    mine = keys.pop(address.lower(), None)
    if mine is None:
        raise NoGasError(f"GAS_KEYS has no key of {address}")
    accounts = GasAccount.objects.filter(address__in=keys.values())
    retired = set(accounts.exclude(retired_at=None).values_list("chain", "address"))
    for chain in chains:
        if all((chain, key) in retired for key in keys.values()):
            raise NoGasError(f"no other key would be left on {chain}: add a new one to GAS_KEYS first")
    mine_retired = _accounts_of(mine, chains).exclude(retired_at=None).count()
    if not dry_run:
        for chain in chains:
            GasAccount.objects.get_or_create(chain=chain, address=mine)
        _accounts_of(mine, chains).filter(retired_at=None).update(retired_at=now)
    return len(chains) - mine_retired


def _accounts_of(address: str, chains: Sequence[str]) -> QuerySet[GasAccount]:
    return GasAccount.objects.filter(address=address, chain__in=chains)


def leaving() -> Sequence[Leaving]:
    """Return the accounts that are retired or lack their key, by address and chain."""
    return list(_leaving())


def _leaving() -> Iterator[Leaving]:
    keys = gas_keys()
    found = GasAccount.objects.filter(~Q(retired_at=None) | ~Q(address__in=keys))
    pending = Count("transactions", filter=Q(transactions__state__in=ON_THEIR_WAY))
    for account in found.annotate(open=pending).order_by("address", "chain"):
        wei = account.balance_wei
        yield Leaving(
            chain=account.chain,
            address=account.address,
            has_key=account.address in keys,
            open=account.open,
            coins=None if wei is None else wei / COIN,
        )
