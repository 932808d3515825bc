"""Rows of the release before, which added a transaction's transfers to one owner up: nothing is recorded a second time, or lost."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import pytest
from django.db.models import Sum
from django.utils import timezone
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from localnet.solana import programs
from localnet.solana.node import USDC, SolanaNode
from tests.checkouts.schema import alter
from tests.wallets.accountchains import OnSolana, make_expected, open_account_watcher, spec_of
from tests.wallets.watchers.test_accounts_nodes import read, watch
from wallets.chains.base import PARTS_FROM
from wallets.chains.registry import open_pool
from wallets.chains.solana.adapter import SolanaAdapter
from wallets.chains.solana.changes import Debit, Parts, TokenCredit
from wallets.chains.solana.instructions import Labels
from wallets.models import EPOCH, ReceivingWallet, SourceDifference, Transfer, WatchedMovement
from wallets.reconciliation.comparison import Compared, compare_accounts
from wallets.reconciliation.missed import ask_again
from wallets.reconciliation.rescan import rescan_accounts
from wallets.reconciliation.sources import AccountNode
from wallets.states import TransferState
from wallets.watchers.accounts import AccountWatcher

pytestmark = pytest.mark.django_db
DETECTED, CONFIRMED, ORPHANED = TransferState


class SumsAlone:
    """How the release before 0.26 read a transaction."""

    def __init__(self, *_: Any, sums: Sequence[TokenCredit], debits: Sequence[Debit], **__: Any) -> None:
        self._sums, self._debits = sums, debits

    def credits(self, labels: Labels) -> Sequence[TokenCredit]:
        return self._sums

    def debits(self) -> Sequence[Debit]:
        return self._debits


class Installation:
    """A merchant's wallet on Solana, which is watched too, read by one release and then by another."""

    def __init__(self, node: SolanaNode, patch: pytest.MonkeyPatch) -> None:
        self.node, self.chain, self._patch = node, OnSolana(node), patch
        self._watchers: list[AccountWatcher] = []
        self.shop = Keypair()
        self.address = str(self.shop.pubkey())
        self.watcher = self.start()
        read(self.watcher)
        self.watched = watch(self.chain, self.address)
        make_expected(self.chain, self.address)
        ReceivingWallet.objects.update(created_at=EPOCH)

    def start(self) -> AccountWatcher:
        self._watchers.append(open_account_watcher(self.chain))
        self.watcher = self._watchers[-1]
        return self.watcher

    def is_of_the_release_before(self, is_old: bool) -> None:
        """Let the processes of another release take over."""
        for old in self._watchers:
            old.stop()
        made = SumsAlone if is_old else Parts
        self._patch.setattr("wallets.chains.solana.changes.Parts", made)
        self.start()

    def pay(self, *units: int, back: int = 0) -> str:
        """Pay the shop several times in one transaction; it returns something in the same one."""
        mint = Pubkey.from_string(USDC)
        payer = self.node.payer.pubkey()
        mine, its = (programs.token_account(one, mint) for one in (payer, self.shop.pubkey()))
        moves = [(mine, its, each, payer) for each in units]
        moves += [(its, mine, back, self.shop.pubkey())] if back else []
        made = programs.create_account(payer, self.shop.pubkey(), mint, program=programs.TOKEN)
        orders = [
            programs.transfer(a, b, units, owner=owner, mint=mint, program=programs.TOKEN)
            for a, b, units, owner in moves
        ]
        signers = [self.shop] if back else []
        return self.node.send(made, *orders, signers=signers)

    def read(self) -> None:
        self.node.advance(2)
        read(self.watcher)

    def look_everywhere(self, tx_hash: str) -> None:
        """Read the transaction again in every way there is."""
        self.read()
        self.node.finalize()
        self.read()
        spec = spec_of(self.chain)
        adapter = SolanaAdapter(spec, open_pool(spec))
        rescan_accounts(spec, adapter, first=0, last=None, now=timezone.now(), say=lambda _: None, pace=lambda: None)
        found = adapter.find(tx_hash)
        assert found is not None
        assert found.is_final
        assert not ask_again(found, now=timezone.now())
        node = AccountNode("another", adapter)
        keys = [bytes(self.shop.pubkey())]
        told = compare_accounts(spec, node, keys=keys, last_turns={}, owner="one", now=timezone.now())
        assert told == Compared()
        adapter.close()
        self.read()

    def close(self) -> None:
        for watcher in self._watchers:
            watcher.close()


@pytest.fixture
def installation(solana_node: SolanaNode, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installation]:
    installed = Installation(solana_node, monkeypatch)
    yield installed
    installed.close()


def rows() -> list[tuple[int, str]]:
    """Transfers that stand: units and state."""
    standing = Transfer.objects.exclude(state=ORPHANED).order_by("position")
    return [(int(units), state) for units, state in standing.values_list("units", "state")]


def balance() -> int:
    """What the watched wallet's movements add up to."""
    standing = WatchedMovement.objects.exclude(state=ORPHANED)
    sums = [standing.filter(direction=way).aggregate(sum=Sum("units"))["sum"] or 0 for way in ("in", "out")]
    return int(sums[0] - sums[1])


PAID: Final[dict[str, tuple[list[int], int]]] = {
    "one transfer": ([7], 0),
    "two transfers": ([3, 4], 0),
    "two equal transfers": ([3, 3], 0),
    "some of it went back": ([10], 4),
    "all of it went back": ([10, 2], 12),
}
each_way = pytest.mark.parametrize(("paid", "back"), PAID.values(), ids=PAID)


@each_way
def test_what_the_release_before_recorded_is_not_recorded_again(
    installation: Installation, paid: list[int], back: int
) -> None:
    installation.is_of_the_release_before(True)
    tx_hash = installation.pay(*paid, back=back)
    installation.read()
    before, total = rows(), sum(paid) - back
    assert [units for units, _ in before] == ([total] if total else [])
    assert balance() == total
    installation.is_of_the_release_before(False)
    installation.look_everywhere(tx_hash)
    if total:
        assert rows() == [(total, CONFIRMED)]
    assert balance() == total
    assert not SourceDifference.objects.exists()


@pytest.mark.parametrize(("paid", "back"), list(PAID.values())[:-1])
def test_what_is_recorded_in_parts_is_not_recorded_as_a_sum(
    installation: Installation, paid: list[int], back: int
) -> None:
    """While an upgrade goes on, a process of the release before may read once more."""
    installation.is_of_the_release_before(False)
    tx_hash = installation.pay(*paid, back=back)
    installation.read()
    assert [units for units, _ in rows()] == paid
    installation.is_of_the_release_before(True)
    installation.look_everywhere(tx_hash)
    assert [units for units, _ in rows()] == paid
    assert balance() == sum(paid) - back
    assert not SourceDifference.objects.exists()


def test_a_sum_that_a_fork_took_comes_back_in_parts(installation: Installation) -> None:
    installation.is_of_the_release_before(True)
    installation.pay(3, 4)
    installation.read()
    Transfer.objects.update(state=ORPHANED, orphaned_at=timezone.now())
    WatchedMovement.objects.update(state=ORPHANED, orphaned_at=timezone.now())
    installation.is_of_the_release_before(False)
    installation.read()
    assert [units for units, _ in rows()] == [3, 4]
    assert balance() == 7


@pytest.mark.parametrize("table", ["wallets_transfer", "wallets_watchedmovement"])
def test_without_the_trigger_money_would_be_recorded_twice(installation: Installation, table: str) -> None:
    name = {"wallets_transfer": "transfer", "wallets_watchedmovement": "movement"}
    alter(f"ALTER TABLE {table} DISABLE TRIGGER {name[table]}_one_reading")
    installation.is_of_the_release_before(True)
    installation.pay(3, 4)
    installation.read()
    installation.is_of_the_release_before(False)
    installation.read()
    found = sum(units for units, _ in rows()), balance()
    assert found == ((14, 7) if table == "wallets_transfer" else (7, 14))


def test_a_single_transfer_has_the_position_that_it_had(installation: Installation) -> None:
    installation.is_of_the_release_before(True)
    installation.pay(7)
    installation.read()
    installation.is_of_the_release_before(False)
    installation.pay(8)
    installation.pay(3, 4)
    installation.read()
    rows = Transfer.objects.values_list("units", "position")
    positions = {int(units): position for units, position in rows}
    assert positions[7] == positions[8] < PARTS_FROM
    assert PARTS_FROM <= positions[3] < positions[4]
