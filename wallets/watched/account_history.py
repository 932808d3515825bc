"""Reads the history of watched wallets on chains that are read by account."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta

from django.conf import settings
from django.db import transaction

from wallets.chains.base import Account, AccountAdapter, AccountReading, AccountTimes, ChainError
from wallets.chains.specs import ChainSpec
from wallets.models import WatchedWallet
from wallets.transfers.movements import NewMovement, record_movements
from wallets.watched.turns import check_lease, next_group, write_turn
from wallets.watchers.account_ingest import account_facts

_REMEMBERED = 10_000
# Pages of a thousand, listed again in each turn. Exchanges' wallets have more entries than can be read; watching one must
# neither keep a million entries in memory, nor delay large payments.
_MOST_REQUESTS = 100


class AccountHistory:
    """Reads histories of one chain, each from its oldest block, several wallets at once."""

    def __init__(self, spec: ChainSpec, adapter: AccountAdapter, times: AccountTimes, *, owner: str) -> None:
        self._spec = spec
        self._adapter = adapter
        self._times = times
        self._owner = owner
        self._at_once = adapter.accounts_at_once
        # By height: the time from which an account known up to it is listed.
        self._since: dict[int, datetime] = {}
        self._begins: dict[datetime, int] = {}

    def first_block(self, until: int, now: datetime) -> int:
        """Return the first block of the history of a wallet watched from the block `until` on. Raises ChainError.

        It is the start of a day (UTC), so wallets added on one day begin at the same block.
        """
        day = (now - timedelta(days=settings.WALLET_HISTORY_DAYS)).date()
        midnight = datetime.combine(day, time(), UTC)
        if midnight not in self._begins:
            block = self._times.before(midnight)
            self._begins = {midnight: block.height}
            self._remember(block.height, block.time)
        return min(self._begins[midnight] + 1, until + 1)

    def next_group(self) -> list[WatchedWallet]:
        """Return the wallets whose turn it is; a wallet of several merchants counts once."""
        found = next_group(self._spec.name, most=self._at_once, span=None)
        return list({bytes(one.key): one for one in reversed(found)}.values())

    def read(self, wallets: Sequence[WatchedWallet], *, genesis: str, now: datetime) -> bool:
        """Read further in some accounts and write it; return whether one advanced. Raises ChainError, LeaseLostError.

        Movements that are not final are recorded too; the watcher follows reorgs.
        """
        head = self._adapter.head()
        try:
            accounts = [self._account(wallet) for wallet in wallets]
            readings = self._adapter.read_accounts(accounts, head=head)
        except ChainError:
            # One unreadable account must not block the others.
            self._at_once = max(self._at_once // 2, 1)
            raise
        self._at_once = min(self._at_once * 2, self._adapter.accounts_at_once)
        for reading in readings:
            self._remember(reading.through.height, reading.through.time)
        movements = self._movements(wallets, readings)
        with transaction.atomic():
            check_lease(self._spec.name, self._owner, genesis=genesis)
            record_movements(movements, now=now)
            heights = [reading.through.height for reading in readings]
            write_turn(wallets, heights, now=now)
        return any(reading.through.height > account.height for reading, account in zip(readings, accounts, strict=True))

    def _movements(self, wallets: Sequence[WatchedWallet], readings: Sequence[AccountReading]) -> Sequence[NewMovement]:
        """Return the movements within the blocks of these histories."""
        spans = {
            bytes(wallet.key): range(wallet.history_from or 0, (wallet.history_until or 0) + 1) for wallet in wallets
        }
        own = [
            replace(reading, transfers=[told for told in reading.transfers if told.block_height in spans[reading.key]])
            for reading in readings
        ]
        return account_facts(self._spec.name, own).movements

    def _account(self, wallet: WatchedWallet) -> Account:
        height = wallet.history_height or 0
        if height not in self._since:
            self._remember(height, self._times.at(height).time)
        since = self._since[height]
        return Account(bytes(wallet.key), wallet.address, height, since, most=_MOST_REQUESTS)

    def _remember(self, height: int, since: datetime) -> None:
        if len(self._since) >= _REMEMBERED:
            self._since.clear()
        self._since[height] = min(since, self._since.get(height, since))
