"""Solana and TON while PostgreSQL or Valkey is away, or everything is at once."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial

import psycopg
import pytest

from tests.faults.accountinstallation import AccountInstallation, Sent
from tests.faults.oracle import settle
from tests.faults.outages import away, hanging, kill_backend, kill_server
from tests.waiting import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.slow, pytest.mark.xdist_group("faults")]

# Where each kind of process is in the middle of a transaction: some of it written, nothing committed.
OPEN_AT = {"watcher": "wallets_accountcursor", "worker": "checkouts_payment"}


@pytest.mark.parametrize(
    ("kind", "stop"),
    [("watcher", kill_server), ("worker", kill_backend)],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_a_transaction_cut_off_by_the_server_loses_nothing(
    accounts: AccountInstallation, kind: str, stop: Callable[[AccountInstallation, str], None]
) -> None:
    name = accounts.the(kind)
    with accounts.database.holding_up_writes(OPEN_AT[kind]):
        accounts.pay_new(2)
        wait_until(lambda: accounts.database.is_held_up(name))
        stop(accounts, name)
    settle(accounts)
    accounts.pay_new()
    settle(accounts)
    assert all(accounts.exit_status(one) is None for one in accounts.names)


@pytest.mark.parametrize("trouble", [away, hanging])
def test_payments_are_credited_and_told_without_valkey_and_after_it_is_back(
    accounts: AccountInstallation, trouble: Callable[[AccountInstallation], AbstractContextManager[None]]
) -> None:
    dues = [accounts.choose(one, "solana") for one in accounts.create_checkouts(2)]
    with trouble(accounts):
        for due in dues:
            accounts.pay(due)
        settle(accounts)
    accounts.pay_new()
    settle(accounts)


def test_everything_killed_at_once_in_a_stream_of_payments_goes_on_where_it_was(accounts: AccountInstallation) -> None:
    sent = accounts.pay_new(2)
    wait_until(partial(are_recorded, accounts, sent, len(sent) // 2))
    for name in accounts.names:
        accounts.kill(name)
    accounts.valkey.stop()
    killed = accounts.engines.pids["postgres"]
    kill_server(accounts, "")
    for one in sent:
        accounts.pay(one.due)
    wait_until(partial(is_replaced, accounts, killed), seconds=60)
    accounts.restore()
    settle(accounts)


def are_recorded(accounts: AccountInstallation, sent: list[Sent], wanted: int) -> bool:
    """Whether as many of these payments are recorded at least."""
    return sum(map(bool, accounts.states(sent))) >= wanted


def is_replaced(accounts: AccountInstallation, killed: int) -> bool:
    """Whether another PostgreSQL answers than the one that was killed, whose children live on for a moment."""
    if accounts.engines.pids.get("postgres", killed) == killed:
        return False
    # A connection of before may still seem to be one.
    accounts.database.close()
    try:
        return bool(accounts.database.now())
    except psycopg.OperationalError:
        return False
