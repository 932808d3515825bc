"""Reads jetton transfers from TON through toncenter's HTTP interface, version 3."""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from cachetools import LRUCache

from wallets.chains.base import (
    Account,
    AccountReading,
    BlockRef,
    ChainMismatchError,
    FoundTransaction,
    Head,
    HeadCheck,
    RangeTooLargeError,
    TokenTransfer,
    any_head,
)
from wallets.chains.family import ChainSpec, Network
from wallets.chains.others import REACH_SECONDS, OtherTokens
from wallets.chains.rpc.client import Call, Node
from wallets.chains.rpc.pool import RpcPool
from wallets.chains.ton import decode
from wallets.chains.ton.address import address_key
from wallets.chains.ton.decode import JettonReceipt, Listed, Place, block_name, moment
from wallets.chains.ton.find import Finder, by_hour, first_of, identity, matched, read_message, taken
from wallets.chains.ton.questions import (
    AT_ONCE,
    PAGE,
    ask_block_before,
    ask_genesis,
    ask_head,
    ask_height,
    ask_network,
    ask_steps,
    ask_wallets,
    list_others,
    list_receipts,
    list_transfers,
    seconds,
    written_address,
)

MOST_REMEMBERED: Final = 10_000

OVERLAP_SECONDS: Final = 120
"""How far before the known transfers a listing starts again.

A transfer is listed with the time of the sender's block, which is older than the one that has its receipt, by seconds or,
in a busy network, by a minute; and an index may write it down later than the block.
"""

PENDING_SECONDS: Final = 600
"""How long a listed transfer without a receipt delays its account.

Messages arrive within seconds, and a lagging index is recognised by its newest block. A transfer without a receipt after
this time may never get one, and must not stop an account's reading.
"""

LATE_SECONDS: Final = 3_600
"""How long a listed transfer's missing receipt is searched for, while its account is read on.

In an overloaded network, a message between shards may take longer than PENDING_SECONDS.
"""

Known = Mapping[str, TokenTransfer | None]
"""Results of transfers, by listed hash; None if nothing was received."""

NETWORK_IDS: Final = {Network.MAINNET: -239, Network.TESTNET: -3}
"""`global_id` of every block; configuration parameter 19 of the network."""
# Receipts come later than their transfers; if there are very many, they are read up to some time.
_RECEIPT_SECONDS: Final = 60
_SURVEY_EVERY: Final = 5.0
# Indexers lag by seconds; this is twenty.
_SLACK_BLOCKS: Final = 50
_LAG_REST: Final = 10.0


class TonMemory:
    """Results of listed transfers, and addresses of jetton wallets. The least recently used are dropped first."""

    def __init__(self) -> None:
        self._settled: LRUCache[tuple[str, str], TokenTransfer | None] = LRUCache(MOST_REMEMBERED)
        self._wallets: LRUCache[tuple[str, Place], bytes] = LRUCache(MOST_REMEMBERED)

    def recall(self, node: str, listed: Iterable[Listed]) -> dict[str, TokenTransfer | None]:
        """Return the cached results of transfers, by listed hash; None if nothing was received."""
        names = [row.tx_hash for row in listed]
        return {name: self._settled[node, name] for name in names if (node, name) in self._settled}

    def keep(self, node: str, settled: Mapping[str, TokenTransfer | None]) -> None:
        """Cache the results of transfers."""
        for name, transfer in settled.items():
            self._settled[node, name] = transfer

    def wallets(self, node: str, places: Collection[Place]) -> dict[Place, bytes]:
        """Return the cached jetton wallets."""
        return {place: self._wallets[node, place] for place in places if (node, place) in self._wallets}

    def keep_wallets(self, node: str, found: Mapping[Place, bytes]) -> None:
        """Cache jetton wallets: their addresses follow from their owners."""
        for place, wallet in found.items():
            self._wallets[node, place] = wallet

    def clear(self) -> None:
        """Forget everything."""
        self._settled.clear()
        self._wallets.clear()


def listed_since(account: Account) -> int:
    """Return the time from which on an account's transfers are listed."""
    return max(seconds(account.time) - OVERLAP_SECONDS, 0)


def new_since(row: Listed, since: Mapping[bytes, int]) -> int:
    """Return from when on a transfer is new to one of its two sides."""
    return min(since[owner] for owner in (row.sender, row.recipient) if owner in since)


def held_since(listed: Sequence[Listed], known: Known, *, head: BlockRef, end: BlockRef) -> dict[bytes, int]:
    """Return by owner the time of the oldest transfer up to `end` that still waits for its receipt."""
    oldest, newest = seconds(head.time) - PENDING_SECONDS, seconds(end.time)
    return _oldest(row for row in listed if row.tx_hash not in known and oldest < row.time <= newest)


def late_since(listed: Sequence[Listed], known: Known, *, head: BlockRef) -> dict[bytes, int]:
    """Return by owner the time of the oldest transfer without a receipt that is still searched for."""
    since = seconds(head.time) - LATE_SECONDS
    return _oldest(row for row in listed if row.tx_hash not in known and row.time > since)


def _oldest(listed: Iterable[Listed]) -> dict[bytes, int]:
    """Return by owner (of either side) the time of the oldest transfer."""
    oldest: dict[bytes, int] = {}
    for row in listed:
        for owner in (row.sender, row.recipient):
            oldest[owner] = min(row.time, oldest.get(owner, row.time))
    return oldest


def moved(account: Account, listed: Sequence[Listed], known: Known, *, head: BlockRef) -> list[TokenTransfer]:
    """Return an account's transfers in both directions up to the head; cached ones may be of blocks that were undone since."""
    own = [known.get(row.tx_hash) for row in listed if account.key in (row.sender, row.recipient)]
    found = {
        each.tx_hash: each for each in own if each is not None and account.key in (each.sender_key, each.recipient_key)
    }
    return [each for each in found.values() if each.block_height <= head.height]


def through(account: Account, limit: BlockRef | None, *, head: BlockRef, late: int | None) -> BlockRef:
    """Return how far an account is known: a block, or as far as before, never beyond the head.

    Its time is `late` if a transfer of that time may still get its receipt, so that the transfer is listed again.
    """
    own = BlockRef(height=account.height, hash=block_name(account.height), parent_hash="", time=account.time)
    furthest = max((own, limit or own), key=lambda block: block.height)
    block = min((head, furthest), key=lambda block: block.height)
    return block if late is None else replace(block, time=min(block.time, moment(late)))


def earliest(*times: int | None) -> int | None:
    """Return the earliest of the given times, or None."""
    return min((time for time in times if time is not None), default=None)


class TonAdapter:
    """TON through a pool of toncenter nodes. `page` is how many rows are asked for at once."""

    def __init__(
        self, spec: ChainSpec, pool: RpcPool, *, page: int = PAGE, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._spec = spec
        self._pool = pool
        self._page = page
        self._clock = clock
        self._masters = {address_key(token.address): token for token in spec.tokens.values()}
        self._accepted = [k for k, token in self._masters.items() if token.accepted]
        self._unaccepted = self._masters.keys() - {*self._accepted}
        self._others = OtherTokens(spec, pool, clock=clock)
        self._memory = TonMemory()
        self._next_survey = 0.0
        self._height_elsewhere = -1

    @property
    def requests(self) -> int:
        """Return how many requests were sent to nodes so far."""
        return self._pool.requests

    @property
    def accounts_at_once(self) -> int:
        """Return the number of accounts that one request can name."""
        return AT_ONCE

    def head(self, *, check: HeadCheck = any_head) -> Head:
        """Return the newest masterchain block; sometimes compare it with other nodes', and prefer the node that is ahead."""

        def ask(node: Node) -> BlockRef:
            check(block := ask_head(node))
            return block

        block = self._pool.run(ask)
        if self._clock() >= self._next_survey:
            self._height_elsewhere = max(self._pool.survey(ask_height), default=-1)
            self._next_survey = self._clock() + _SURVEY_EVERY
        agreed = block.height + _SLACK_BLOCKS >= self._height_elsewhere
        if not agreed:
            self._pool.rest_current(_LAG_REST)
        return Head(block=block, agreed=agreed)

    def genesis(self) -> str:
        """Return the first block's hash, from a node whose chain was just checked."""
        self._pool.doubt()
        self._memory.clear()
        return self._pool.run(ask_genesis)

    def final_height(self, head: Head, *, read_height: int) -> int:
        """Return the newest final height: masterchain blocks are signed before they are published, and never undone.

        A block with another one above it was accepted by the network, so an error of this node is excluded.
        """
        return head.block.height - self._spec.confirmations

    def finalized(self) -> int:
        """Return the newest masterchain block that has another above it: TON has no later stage."""
        return self._pool.run(ask_head).height - 1

    def subscriptions(self, accounts: Sequence[Account]) -> list[Call]:
        """Return none: the nodes push nothing."""
        return []

    def read_accounts(self, accounts: Sequence[Account], *, head: Head) -> list[AccountReading]:
        """Read accounts whole, all of them on one node.

        While a listed transfer has no receipt, its account's reading does not advance, for ten minutes at most.
        """
        if not accounts:
            return []
        payments = self._pool.run(lambda node: self._read(node, accounts, head.block), is_divisible=True)
        return self._others.beside(
            payments, accounts, lambda due: self._pool.run(lambda node: self._read_others(node, due, head.block))
        )

    def lost(self, transfers: Sequence[TokenTransfer]) -> list[bool]:
        """Return, for each transfer, whether no node knows its receipt, though every node has its masterchain block."""
        if not transfers:
            return []
        return self._pool.unknown_to_all(transfers, self._may_know)

    def witness(self, transfers: Sequence[TokenTransfer]) -> list[bool] | None:
        """Return, for each transfer, whether a second node reports it identically, in a masterchain block; None without one."""
        return self._pool.second_opinion(lambda node: self._confirms(node, transfers))

    def find(self, tx_hash: str) -> FoundTransaction | None:
        """Look a transaction up by its hash or its message's; None where no node knows it. Raises ChainError."""
        finder = Finder(
            self._spec, self._masters, read=self._transfer, write_address=self._written, ask_height=ask_height
        )

        return self._pool.first_known(lambda node: finder.find(node, tx_hash))

    def close(self) -> None:
        """Close the connections."""
        self._pool.close()

    def _read(self, node: Node, accounts: Sequence[Account], head: BlockRef) -> list[AccountReading]:
        since = {account.key: listed_since(account) for account in accounts}
        found: dict[str, Listed] = {}
        cut: int | None = None
        for master in self._accepted:
            rows, its_cut = list_transfers(node, since, master=master, since=min(since.values()), page=self._page)
            cut = earliest(cut, its_cut)
            found |= {row.tx_hash: row for row in rows}
        listed = [row for row in found.values() if row.time >= new_since(row, since)]
        return self._read_listed(node, accounts, listed, cut, head)

    def _read_others(self, node: Node, accounts: Sequence[Account], head: BlockRef) -> list[AccountReading]:
        since = {account.key: max(listed_since(account) - REACH_SECONDS, 0) for account in accounts}
        listed, cut = list_others(node, since, masters=self._unaccepted, page=self._page)
        return self._read_listed(node, accounts, listed, cut, head)

    def _read_listed(
        self, node: Node, accounts: Sequence[Account], rows: Sequence[Listed], cut: int | None, head: BlockRef
    ) -> list[AccountReading]:
        """Read accounts by listed transfers, of which some are missing from the time `cut` on."""
        listed = [row for row in rows if row.time <= seconds(head.time)]
        known = self._memory.recall(node.label, listed)
        wanted = [row for row in listed if row.tx_hash not in known]
        if wanted:
            keys = {account.key for account in accounts}
            settled, other_cut = self._settle(node, keys, listed, wanted)
            cut = earliest(cut, other_cut)
            self._memory.keep(node.label, settled)
            known |= settled
        end = head if cut is None else _end(node, accounts, cut)
        held = held_since(listed, known, head=head, end=end)
        # Skipped if there are so many transfers that an hour of them cannot be listed again each time.
        late = late_since(listed, known, head=head) if len(listed) < self._page else {}
        before = ask_block_before(node, min(held.values())) if held else None
        return [
            AccountReading(
                key=account.key,
                through=through(account, before if account.key in held else end, head=head, late=late.get(account.key)),
                transfers=moved(account, listed, known, head=head),
            )
            for account in accounts
        ]

    def _settle(
        self, node: Node, keys: Collection[bytes], listed: Sequence[Listed], wanted: Sequence[Listed]
    ) -> tuple[dict[str, TokenTransfer | None], int | None]:
        """Return the results of the wanted transfers among the listed; and the time from which some are missing."""
        arriving = [row for row in wanted if row.recipient in keys]
        leaving = [row for row in wanted if row.recipient not in keys]
        settled, cut = {}, None
        if arriving:
            receipts, cut = self._receipts(node, arriving)
            settled = self._settled(matched(listed, receipts))
        if leaving:
            some, other_cut = first_of(leaving)
            cut = earliest(cut, other_cut)
            settled |= self._settled(taken(listed, self._taken(node, some)))
        return settled, cut

    def _taken(self, node: Node, leaving: Sequence[Listed]) -> list[JettonReceipt | None]:
        """Return receipts of strangers' jetton wallets for these transfers, which must come from their owners' own wallets."""
        wallets = self._wallets(node, {(row.sender, row.master) for row in leaving})
        names = [row.tx_hash for row in leaving if wallets.get((row.sender, row.master)) == row.wallet]
        return [step.receipt for step in ask_steps(node, names)]

    def _receipts(self, node: Node, listed: Sequence[Listed]) -> tuple[dict[Place, list[JettonReceipt]], int | None]:
        """Return the receipts of the owners' jetton wallets since the first of these transfers."""
        places = {(row.recipient, row.master) for row in listed}
        wallets = self._wallets(node, places)
        since = max(min(row.time for row in listed) - _RECEIPT_SECONDS, 0)
        receipts, cut = list_receipts(node, set(wallets.values()), since=since, page=self._page)
        found: dict[Place, list[JettonReceipt]] = {place: [] for place in wallets}
        owned = {wallet: place for place, wallet in wallets.items()}
        for receipt in receipts:
            found[owned[receipt.account]].append(receipt)
        return found, None if cut is None else cut - _RECEIPT_SECONDS

    def _wallets(self, node: Node, places: Collection[Place]) -> dict[Place, bytes]:
        """Return the existing jetton wallets of owners."""
        known = self._memory.wallets(node.label, places)
        for master in self._masters:
            asked = {place for place in places if place not in known}
            owners = {owner for owner, its_master in asked if its_master == master}
            if not owners:
                continue
            answer = ask_wallets(node, owners, master=master)
            found = {(owner, master): wallet for owner, wallet in answer.items()}
            self._memory.keep_wallets(node.label, found)
            known |= found
        return known

    def _settled(self, pairs: Iterable[tuple[Place, Listed, JettonReceipt]]) -> dict[str, TokenTransfer | None]:
        """Return the results decided by receipts in a masterchain block, by listed hash; None for one that is not a payment."""
        return {
            row.tx_hash: self._transfer(place, receipt) for place, row, receipt in pairs if receipt.height is not None
        }

    def _transfer(self, place: Place, receipt: JettonReceipt) -> TokenTransfer | None:
        """Return the received transfer; None for zero, and for an owner's transfer to itself."""
        owner, master = place
        if not receipt.succeeded:
            return None
        message = read_message(receipt)
        if not message.units or message.sender == owner:
            return None
        token, height = self._masters[master], receipt.height or 0
        return TokenTransfer(
            chain=self._spec.name,
            # The receipt's own hash: each transfer has one, and explorers show its whole trace.
            tx_hash=receipt.tx_hash,
            position=0,
            token=token.symbol,
            token_address=token.address,
            units=message.units,
            sender=self._written(message.sender or receipt.source),
            recipient_key=owner,
            recipient=self._written(owner),
            block_height=height,
            block_hash=decode.block_name(height),
            block_time=decode.moment(receipt.time),
            labels=(message.comment,) if message.comment else (),
            sender_key=message.sender or b"",
        )

    def _written(self, key: bytes) -> str:
        is_testnet = self._spec.network is Network.TESTNET
        return written_address(key, is_testnet=is_testnet)

    def _confirms(self, node: Node, transfers: Sequence[TokenTransfer]) -> list[bool]:
        known = self._known(node, transfers)
        return [
            (found := known.get(identity(transfer))) is not None
            and found.height == transfer.block_height
            and read_message(found).units == transfer.units
            for transfer in transfers
        ]

    def _may_know(self, node: Node, transfers: Sequence[TokenTransfer]) -> list[bool]:
        """Return, for each transfer, whether a node knows it or lacks its block."""
        height = ask_height(node)
        known = self._known(node, transfers)
        return [transfer.block_height > height or identity(transfer) in known for transfer in transfers]

    def _known(self, node: Node, transfers: Sequence[TokenTransfer]) -> dict[tuple[Place, str], JettonReceipt]:
        """Return a node's successful receipts about these transfers."""
        wallets = self._wallets(node, {identity(each)[0] for each in transfers})
        owned = {wallet: place for place, wallet in wallets.items()}
        found: dict[tuple[Place, str], JettonReceipt] = {}
        for some in by_hour(transfers):
            receipts, cut = list_receipts(
                node,
                {wallets[p] for each in some if (p := identity(each)[0]) in wallets},
                since=seconds(some[0].block_time),
                until=seconds(some[-1].block_time),
                page=self._page,
            )
            if cut is not None:
                raise RangeTooLargeError(f"{node.label} has too much in one hour")
            found |= {(owned[each.account], each.tx_hash): each for each in receipts if each.succeeded}
        return found


def has_network(network: Network) -> Callable[[Node], None] | None:
    """Return the check that a node is of this network; None if any chain is accepted."""
    expected = NETWORK_IDS.get(network)
    if expected is None:
        return None

    def identify(node: Node) -> None:
        if ask_network(node) != expected:
            raise ChainMismatchError(f"{node.label} is not of TON's {network}")

    return identify


def _end(node: Node, accounts: Sequence[Account], cut: int) -> BlockRef:
    """Return the block up to which a truncated listing is complete.

    Raises RangeTooLargeError if that does not advance beyond the known block.
    """
    end = ask_block_before(node, cut)
    if end is None or all(end.height <= account.height for account in accounts):
        raise RangeTooLargeError(f"{node.label} has too much at once")
    return end
