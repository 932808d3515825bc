"""Reads token transfers from Solana nodes, account by account, at commitment `confirmed`."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from cachetools import LRUCache

from wallets.chains.base import (
    Account,
    AccountReading,
    BlockRef,
    ChainMismatchError,
    FoundTransaction,
    Head,
    HeadCheck,
    MalformedAnswerError,
    ReorgDuringReadError,
    TokenTransfer,
    any_head,
)
from wallets.chains.family import ChainSpec, Network
from wallets.chains.others import REACH_SECONDS, OtherTokens
from wallets.chains.rpc.client import Call, Node, ask_all
from wallets.chains.rpc.pool import RpcPool
from wallets.chains.solana import decode
from wallets.chains.solana.changes import Debit, ReadTransaction, TokenCredit, read_transaction
from wallets.chains.solana.decode import from_base58
from wallets.chains.solana.find import Finder
from wallets.chains.solana.questions import (
    MOST_PAGES,
    Listing,
    ask_finalized,
    ask_genesis,
    ask_head,
    ask_programs,
    ask_slot,
    ask_transactions,
    list_whole,
    make_sure_of_history,
    may_know,
    slot_name,
    token_account,
)

MOST_REMEMBERED: Final = 10_000

_ACCOUNTS_IN_A_REQUEST: Final = 100  # a node's limit of accounts per request

GENESIS: Final[Mapping[Network, str]] = {
    Network.MAINNET: "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d",
    Network.TESTNET: "EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG",
}
"""The first blocks' hashes of mainnet-beta and of devnet, where the test token is."""

PAGE: Final = 1_000
"""A node's limit of entries per page of a listing."""

MOST_TRANSACTIONS: Final = 1_000
"""Further transactions of an account wait for its next reading: forty batches take some seconds."""

OVERLAP: Final = 150
"""Slots, about a minute, that are listed again below the known ones.

Nodes' index of transactions lags behind their head, and transactions not finalized (32 slots) may still move.
"""
# An hour: every node keeps that much, unless it restarted from a snapshot.
_SURELY_KEPT: Final = 9_000
_ACCOUNTS_AT_ONCE: Final = 25
_SURVEY_EVERY: Final = 5.0
_SLACK_SLOTS: Final = 50
_LAG_REST: Final = 10.0


class TransactionMemory:
    """Transactions that were read, by signature and slot. The least recently used are dropped first.

    What a transaction did in the block that two thirds voted for does not change; if a fork takes it to another slot, it
    is another entry.
    """

    def __init__(self) -> None:
        self._known: LRUCache[tuple[str, int], ReadTransaction] = LRUCache(MOST_REMEMBERED)

    def recall(self, wanted: Mapping[str, int]) -> dict[str, ReadTransaction]:
        """Return the cached transactions of these signatures in these slots."""
        return {place[0]: self._known[place] for place in wanted.items() if place in self._known}

    def keep(self, name: str, read: ReadTransaction) -> None:
        """Cache a transaction by its signature."""
        self._known[name, read.slot] = read


class OtherAccounts:
    """Asks which owners have an account of another token, a hundred accounts a request."""

    def __init__(self, spec: ChainSpec) -> None:
        self._mints = [t.address for t in spec.tokens.values() if not t.accepted]
        self._programs: dict[str, str] = {}

    def ask(self, node: Node, accounts: Sequence[Account]) -> dict[bytes, list[str]]:
        """Return the owners' existing token accounts, by the owner's key."""
        self._learn(node)
        places = [
            (one.key, token_account(one.address, mint=mint, program=program))
            for one in accounts
            for mint, program in self._programs.items()
        ]
        there = _programs_of(node, [place for _, place in places])
        found: dict[bytes, list[str]] = {one.key: [] for one in accounts}
        for (key, place), program in zip(places, there, strict=True):
            if program in decode.TOKEN_PROGRAMS:
                found[key].append(place)
        return found

    def _learn(self, node: Node) -> None:
        """Ask for the programs that keep the mints; one that does not exist yet, as on a local chain, is asked for again."""
        missing = [mint for mint in self._mints if mint not in self._programs]
        programs = zip(missing, _programs_of(node, missing), strict=True)
        self._programs |= {mint: program for mint, program in programs if program in decode.TOKEN_PROGRAMS}


def _programs_of(node: Node, keys: Sequence[str]) -> list[str]:
    """Return the program that owns each account; empty for one that does not exist."""
    options = {"commitment": "confirmed", "encoding": "base64", "dataSlice": {"offset": 0, "length": 0}}
    calls: list[Call] = [
        ("getMultipleAccounts", [keys[start : start + _ACCOUNTS_IN_A_REQUEST], options])
        for start in range(0, len(keys), _ACCOUNTS_IN_A_REQUEST)
    ]
    return [
        program
        for call, answer in zip(calls, ask_all(node, calls), strict=True)
        for program in _programs_in(answer, asked=len(call[1][0]))
    ]


def _programs_in(answer: Any, *, asked: int) -> Iterator[str]:
    _, accounts = decode.in_context(answer)
    if len(decode.items(accounts)) != asked:
        decode.refuse("as many accounts came as were not asked for")
    for account in accounts:
        yield "" if account is None else decode.key(decode.field(account, "owner"))


class Teller:
    """Writes the credits and debits of one chain's tokens as `TokenTransfer`s."""

    def __init__(self, spec: ChainSpec) -> None:
        self._chain = spec.name
        self._tokens = {token.address: token for token in spec.tokens.values()}

    def both_ways(self, signature: str, read: ReadTransaction, owner: str) -> Iterator[TokenTransfer]:
        """Return a transaction's transfers to an owner and from it."""
        for credit in read.credits:
            if credit.owner == owner:
                yield self.arrived(signature, read, credit)
        for debit in read.debits:
            if debit.owner == owner:
                yield self.left(signature, read, debit)

    def arrived(self, signature: str, read: ReadTransaction, credit: TokenCredit) -> TokenTransfer:
        """Return an owner's incoming transfer."""
        told = _as_paid(credit)
        sender_key = from_base58(told.owner) if told in read.debits else b""
        keys = sender_key, from_base58(told.recipient)
        return self._told(signature, read, told, keys, credit)

    def left(self, signature: str, read: ReadTransaction, debit: Debit) -> TokenTransfer:
        """Return an owner's outgoing transfer; without a recipient if it reached none."""
        alike = (credit for credit in read.credits if _as_paid(credit) == debit)
        credit = next(alike, None)
        recipient_key = from_base58(debit.recipient) if credit is not None else b""
        keys = from_base58(debit.owner), recipient_key
        return self._told(signature, read, debit, keys, credit)

    def _told(
        self, signature: str, read: ReadTransaction, moved: Debit, keys: tuple[bytes, bytes], credit: TokenCredit | None
    ) -> TokenTransfer:
        token = self._tokens[moved.mint]
        sender_key, recipient_key = keys
        return TokenTransfer(
            chain=self._chain,
            tx_hash=signature,
            position=moved.position,
            token=token.symbol,
            token_address=token.address,
            units=moved.units,
            sender=moved.owner,
            recipient_key=recipient_key,
            recipient=moved.recipient,
            block_height=read.slot,
            block_hash=slot_name(read.slot),
            block_time=read.time,
            labels=credit.labels if credit is not None else (),
            sender_key=sender_key,
            is_sum=credit is not None and credit.is_sum,
        )


def _as_paid(credit: TokenCredit) -> Debit:
    """Return the credit as if its sender had paid all of it."""
    return Debit(
        owner=credit.sender, mint=credit.mint, units=credit.units, position=credit.position, recipient=credit.owner
    )


class SolanaAdapter:
    """Solana through a pool of its nodes.

    `page` is how much of a listing is asked for at once, 2 at least; `most` how many new transactions of an account are
    read at once.
    """

    def __init__(
        self,
        spec: ChainSpec,
        pool: RpcPool,
        *,
        page: int = PAGE,
        most: int = MOST_TRANSACTIONS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._spec = spec
        self._pool = pool
        self._page = page
        self._most = most
        self._clock = clock
        self._tokens = {token.address: token for token in spec.tokens.values()}
        self._decimals = {mint: token.decimals for mint, token in self._tokens.items()}
        self._unaccepted = {m for m, token in self._tokens.items() if not token.accepted}
        self._teller = Teller(spec)
        self._programs: dict[str, str] = {}
        self._others = OtherTokens(spec, pool, clock=clock)
        self._other_accounts = OtherAccounts(spec)
        self._memory = TransactionMemory()
        self._genesis = ""
        self._next_survey = 0.0
        self._slot_elsewhere = -1

    @property
    def requests(self) -> int:
        """Return how many requests were sent to nodes so far; each call of a batch counts."""
        return self._pool.requests

    @property
    def accounts_at_once(self) -> int:
        """Return the number of accounts that fill a batch with the first pages of their listings."""
        return max(1, _ACCOUNTS_AT_ONCE // max(1, len(self._spec.accepted_tokens)))

    def head(self, *, check: HeadCheck = any_head) -> Head:
        """Return the newest confirmed slot; sometimes compare it with other nodes', and prefer the node that is ahead."""

        def ask(node: Node) -> BlockRef:
            check(block := ask_head(node))
            return block

        block = self._pool.run(ask)
        if self._clock() >= self._next_survey:
            self._slot_elsewhere = max(self._pool.survey(ask_slot), default=-1)
            self._next_survey = self._clock() + _SURVEY_EVERY
        agreed = block.height + _SLACK_SLOTS >= self._slot_elsewhere
        if not agreed:
            self._pool.rest_current(_LAG_REST)
        return Head(block=block, agreed=agreed)

    def genesis(self) -> str:
        """Return the first block's hash, from a node whose chain was just checked."""
        self._pool.doubt()
        genesis = self._pool.run(ask_genesis)
        if genesis != self._genesis:
            # Facts learned about another chain do not apply to this one.
            self._programs, self._memory = {}, TransactionMemory()
            self._other_accounts = OtherAccounts(self._spec)
            self._others.forget()
            self._genesis = genesis
        return genesis

    def final_height(self, head: Head, *, read_height: int) -> int:
        """Return the newest slot read: confirmed is final, unless the operator asks for more slots on top."""
        return min(read_height, head.block.height) - self._spec.confirmations + 1

    def finalized(self) -> int:
        """Return the newest slot that the chain itself calls final."""
        return self._pool.run(ask_finalized)

    def read_accounts(self, accounts: Sequence[Account], *, head: Head) -> list[AccountReading]:
        """Read accounts, all of them on one node, which must have reached the head.

        An account with very many transfers is read in parts, oldest first.
        """
        if not accounts:
            return []
        self._learn_programs()
        payments = self._pool.run(lambda node: self._read(node, accounts, head))
        return self._others.beside(
            payments, accounts, lambda due: self._pool.run(lambda node: self._read_others(node, due, head))
        )

    def subscriptions(self, accounts: Sequence[Account]) -> list[Call]:
        """Return a call for each token account of these owners, once the tokens' programs are known.

        A node pushes the logs of each confirmed transaction that names it (https://solana.com/docs/rpc/websocket/logssubscribe).
        """
        owned = [
            token_account(account.address, mint=mint, program=program)
            for account in accounts
            for mint, program in self._programs.items()
        ]
        options = {"commitment": "confirmed"}
        return [("logsSubscribe", [{"mentions": [one]}, options]) for one in owned]

    def lost(self, transfers: Sequence[TokenTransfer]) -> list[bool]:
        """Return, for each transfer, whether no node knows its transaction as successful, though every node has its slot."""
        if not transfers:
            return []
        return self._pool.unknown_to_all(transfers, may_know)

    def witness(self, transfers: Sequence[TokenTransfer]) -> list[bool] | None:
        """Return, for each transfer, whether a second node reports it as final, with the same effect; None without one."""
        return self._pool.second_opinion(lambda node: self._confirms(node, transfers))

    def find(self, tx_hash: str) -> FoundTransaction | None:
        """Look a transaction up by its signature; None where no node knows it. Raises ChainError."""
        finder = Finder(self._spec, self._tokens, write=self._teller.arrived, final_through=self._final_through)
        return self._pool.first_known(lambda node: finder.find(node, tx_hash))

    def close(self) -> None:
        """Close the connections."""
        self._pool.close()

    def _read(self, node: Node, accounts: Sequence[Account], head: Head) -> list[AccountReading]:
        listed = {
            one.key: [
                token_account(one.address, mint=mint, program=program) for mint, program in self._programs.items()
            ]
            for one in accounts
        }
        return self._read_listed(node, accounts, listed, head, overlap=OVERLAP)

    def _read_others(self, node: Node, accounts: Sequence[Account], head: Head) -> list[AccountReading]:
        listed = self._other_accounts.ask(node, accounts)
        reach = int(REACH_SECONDS / self._spec.block_seconds)
        return self._read_listed(node, accounts, listed, head, overlap=OVERLAP + reach)

    def _read_listed(
        self,
        node: Node,
        accounts: Sequence[Account],
        listed: Mapping[bytes, Sequence[str]],
        head: Head,
        *,
        overlap: int,
    ) -> list[AccountReading]:
        """Read accounts by these token accounts of theirs."""
        oldest = min(account.height for account in accounts)
        # A local chain is read from its beginning, although its node may have pruned that.
        if head.block.height - oldest > _SURELY_KEPT and not self._spec.is_local:
            make_sure_of_history(node, since=oldest + 1)
        listings = {one.key: self._listings(one, listed[one.key], floor=one.height - overlap) for one in accounts}
        everything = [listing for own in listings.values() for listing in own]
        list_whole(node, everything, slot=head.block.height)
        ends = {account.key: self._shorten(account, listings[account.key], head.block) for account in accounts}
        found = self._transactions(node, everything, slot=head.block.height)
        return [
            self._reading(account, listings[account.key], found, head=head.block, end=ends[account.key])
            for account in accounts
        ]

    def _shorten(self, account: Account, listings: Sequence[Listing], head: BlockRef) -> int:
        """Drop transactions beyond the limit of one reading; return the slot up to which this reading is complete.

        Otherwise thousands of worthless payments to one account would delay the others.
        """
        wanted = {entry.signature: entry.slot for listing in listings for entry in listing.succeeded_until(head.height)}
        known = self._memory.recall(wanted)
        most = self._most if account.most is None else min(self._most, account.most)
        missing = sorted(place for name, place in wanted.items() if name not in known)
        # Transactions of one slot are read together.
        left = [place for place in missing[most:] if place > missing[0]]
        if not left:
            return head.height
        for listing in listings:
            listing.leave(left[0])
        return left[0] - 1

    def _reading(
        self,
        account: Account,
        listings: Sequence[Listing],
        found: Mapping[str, ReadTransaction],
        *,
        head: BlockRef,
        end: int,
    ) -> AccountReading:
        transfers = self._transfers(account, listings, found, slot=head.height)
        if end >= head.height:
            return AccountReading(account.key, head, transfers)
        height, time_ = account.height, account.time
        if end > height:
            height = end
            time_ = max(found[entry.signature].time for listing in listings for entry in listing.succeeded_until(end))
        through = BlockRef(height, slot_name(height), "", time_)
        return AccountReading(account.key, through, transfers)

    def _listings(self, account: Account, listed: Sequence[str], *, floor: int) -> list[Listing]:
        pages = MOST_PAGES if account.most is None else account.most
        return [Listing(name, floor=floor, page=self._page, pages=pages) for name in listed]

    def _learn_programs(self) -> None:
        """Ask once for the program of each token: its accounts' addresses depend on that, so a wrong answer would hide payments.

        Every reachable node must give the same answer.
        """
        if self._programs:
            return
        programs = self._pool.run(self._ask_programs)
        if any(other != programs for other in self._pool.survey(self._ask_programs)):
            raise MalformedAnswerError("nodes disagree about who keeps a token")
        self._programs = programs

    def _ask_programs(self, node: Node) -> dict[str, str]:
        return ask_programs(node, [t.address for t in self._spec.accepted_tokens])

    def _transactions(self, node: Node, listings: Sequence[Listing], *, slot: int) -> dict[str, ReadTransaction]:
        """Return the listed transactions up to `slot` by signature; only those not in memory are requested."""
        wanted: dict[str, int] = {}
        naming: dict[str, set[str]] = defaultdict(set)
        for listing in listings:
            for entry in listing.succeeded_until(slot):
                wanted[entry.signature] = entry.slot
                naming[entry.signature].add(listing.token_account)
        found = {name: read for name, read in self._memory.recall(wanted).items() if naming[name] <= read.accounts}
        missing = [name for name in wanted if name not in found]
        for name, answer in ask_transactions(node, missing, "confirmed"):
            read = self._transaction(answer, name)
            if read.slot != wanted[name]:
                raise ReorgDuringReadError("a transaction moved while it was read")
            if not naming[name] <= read.accounts:
                raise MalformedAnswerError("an account's listing is of another account")
            found[name] = read
            # Cached at once: after a rate limit, reading continues from here.
            self._memory.keep(name, read)
        return found

    def _transfers(
        self, account: Account, listings: Sequence[Listing], found: Mapping[str, ReadTransaction], *, slot: int
    ) -> list[TokenTransfer]:
        # One transaction may be listed for several tokens.
        names = dict.fromkeys(entry.signature for listing in listings for entry in listing.succeeded_until(slot))
        return [transfer for name in names for transfer in self._teller.both_ways(name, found[name], account.address)]

    def _final_through(self, node: Node, confirmed: int, is_large: bool) -> int:
        if is_large:
            return ask_finalized(node)
        if self._spec.confirmations == 1:
            # No further slots are required, so no node is asked.
            return confirmed
        head = Head(block=ask_head(node), agreed=True)
        return self.final_height(head, read_height=head.block.height)

    def _transaction(self, answer: Any, name: str) -> ReadTransaction:
        return read_transaction(answer, asked=name, decimals=self._decimals, unaccepted=self._unaccepted)

    def _confirms(self, node: Node, transfers: Sequence[TokenTransfer]) -> list[bool]:
        names = list(dict.fromkeys(transfer.tx_hash for transfer in transfers))
        told = {
            (name, read.slot, one.owner, one.mint, one.position, one.units)
            for name, answer in ask_transactions(node, names, "finalized")
            if answer is not None
            for read in [self._transaction(answer, name)]
            for one in (*read.credits, *read.effects.sums)
        }
        return [
            (*(one.tx_hash, one.block_height, one.recipient, one.token_address), *(one.position, one.units)) in told
            for one in transfers
        ]


def has_genesis(network: Network) -> Callable[[Node], None] | None:
    """Return the check that a node is of this network; None if any chain is accepted."""
    expected = GENESIS.get(network)
    if expected is None:
        return None

    def identify(node: Node) -> None:
        if ask_genesis(node) != expected:
            raise ChainMismatchError(f"{node.label} is not of Solana's {network}")

    return identify
