"""Owners of a chain's addresses, and the facts recorded for them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from accounts.states import Mode
from wallets.chains.base import TokenTransfer
from wallets.chains.family import ChainFamily
from wallets.models import Transfer, WatchedMovement
from wallets.selectors import Owner, Watch, owners_of, watches_of
from wallets.states import Direction
from wallets.transfers.movements import NewMovement, NewOutflow, record_movements, record_outflows
from wallets.transfers.service import NewTransfer, record_transfers


@dataclass(frozen=True, slots=True)
class RecordedFacts:
    """The facts recorded from a chain's transfers: payments, watched movements, and deposit outflows."""

    payments: Sequence[NewTransfer] = ()
    movements: Sequence[NewMovement] = ()
    outflows: Sequence[NewOutflow] = ()


def record_facts(facts: RecordedFacts, *, now: datetime) -> list[int]:
    """Write facts in the caller's transaction; return the ids of the payments that were new or revived.

    Payments go first: movements refer to them.
    """
    new = record_transfers(facts.payments, now=now)
    record_movements(facts.movements, now=now)
    record_outflows(facts.outflows, now=now)
    return new


class Owners:
    """Caches the owners of a chain's addresses, so that writing does not query them again."""

    def __init__(self, chain: str) -> None:
        self._chain = chain
        self._asked: set[bytes] = {b""}
        self._owners: dict[bytes, Owner] = {}
        self._watches: dict[bytes, list[Watch]] = {}

    def ours(self, keys: Iterable[bytes]) -> frozenset[bytes]:
        """Return the addresses that belong to our merchants or are watched."""
        wanted = frozenset(keys)
        unknown = wanted - self._asked
        self._owners |= owners_of(self._chain, {*unknown})
        self._watches |= watches_of(self._chain, {*unknown})
        self._asked |= unknown
        return wanted & (self._owners.keys() | self._watches.keys())

    def facts(self, transfers: Sequence[TokenTransfer]) -> RecordedFacts:
        """Return all facts to record from these transfers; unrelated ones are left out."""
        self._ask_about(transfers)
        return RecordedFacts(
            payments=self.payments(transfers), movements=self.movements(transfers), outflows=self.outflows(transfers)
        )

    def payments(self, transfers: Iterable[TokenTransfer]) -> list[NewTransfer]:
        """Return payments to us, without deposit addresses' payouts to merchants' own wallets.

        That money was recorded when it reached the deposit address.
        """
        told = list(transfers)
        self._ask_about(told)
        return [self.owned(one) for one in told if one.recipient_key in self._owners and not self._is_sweep(one)]

    def movements(self, transfers: Iterable[TokenTransfer]) -> list[NewMovement]:
        """Return movements of watched wallets, once for each watcher."""
        told = list(transfers)
        self._ask_about(told)
        return [
            NewMovement(watch.wallet_id, watch.merchant_id, direction, one)
            for one in told
            for direction, key in ((Direction.IN, one.recipient_key), (Direction.OUT, one.sender_key))
            for watch in self._watches.get(key, ())
        ]

    def outflows(self, transfers: Iterable[TokenTransfer]) -> list[NewOutflow]:
        """Return outflows of our deposit addresses, for any sender of the transaction."""
        told = list(transfers)
        self._ask_about(told)
        return [
            NewOutflow(deposit_id, one) for one in told if (deposit_id := self._deposit_of(one.sender_key)) is not None
        ]

    def deposits_among(self, keys: Iterable[bytes]) -> frozenset[bytes]:
        """Return the deposit addresses among these."""
        ours = self.ours(keys)
        return frozenset(key for key in ours if self._deposit_of(key) is not None)

    def owned(self, transfer: TokenTransfer) -> NewTransfer:
        """Return the transfer with its owner. Raises KeyError if `ours` did not name the recipient."""
        owner = self._owners[transfer.recipient_key]
        return NewTransfer(
            chain=transfer.chain,
            tx_hash=transfer.tx_hash,
            position=transfer.position,
            token=transfer.token,
            token_address=transfer.token_address,
            units=transfer.units,
            sender=transfer.sender,
            recipient=transfer.recipient,
            deposit_id=owner.deposit_id,
            wallet_id=owner.wallet_id,
            labels=transfer.labels,
            is_sum=transfer.is_sum,
            merchant_id=owner.merchant_id,
            purpose=owner.purpose,
            mode=Mode.LIVE,
            block_height=transfer.block_height,
            block_hash=transfer.block_hash,
            block_time=transfer.block_time,
        )

    def _ask_about(self, transfers: Iterable[TokenTransfer]) -> None:
        self.ours(key for one in transfers for key in (one.recipient_key, one.sender_key))

    def _is_sweep(self, transfer: TokenTransfer) -> bool:
        return (
            self._owners[transfer.recipient_key].wallet_id is not None
            and self._deposit_of(transfer.sender_key) is not None
        )

    def _deposit_of(self, key: bytes) -> int | None:
        owner = self._owners.get(key)
        return owner.deposit_id if owner is not None else None


def as_told(transfer: Transfer, family: ChainFamily) -> TokenTransfer:
    """Return a recorded transfer as its chain reported it."""
    return _told(transfer, family, sender=transfer.sender, recipient=transfer.recipient, labels=tuple(transfer.labels))


def movement_as_told(movement: WatchedMovement, family: ChainFamily) -> TokenTransfer:
    """Return a recorded movement as its chain reported it, without labels."""
    own, other = movement.wallet.address, movement.counterparty
    is_in = movement.direction == Direction.IN
    sender, recipient = (other, own) if is_in else (own, other)
    return _told(movement, family, sender=sender, recipient=recipient)


def _told(
    fact: Transfer | WatchedMovement, family: ChainFamily, *, sender: str, recipient: str, labels: tuple[str, ...] = ()
) -> TokenTransfer:
    return TokenTransfer(
        chain=fact.chain,
        tx_hash=fact.tx_hash,
        position=fact.position,
        token=fact.token,
        token_address=fact.token_address,
        units=int(fact.units),
        sender=sender,
        # Burned tokens have no recipient.
        recipient_key=family.address_key(recipient) if recipient else b"",
        recipient=recipient,
        block_height=fact.block_height,
        block_hash=fact.block_hash,
        block_time=fact.block_time,
        labels=labels,
    )
