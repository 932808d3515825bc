"""PostgreSQL or Valkey stops, hangs or forgets; once it is back, all goes on by itself, and nothing is lost."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import psycopg
import pytest
import redis

from tests.exhaustive import sample
from tests.faults.accountinstallation import AccountInstallation, Sent
from tests.faults.oracle import settle
from tests.faults.outages import away, hanging, kill_backend, kill_server, shut_down
from tests.florin import Florin
from tests.installation import DOLLAR, Installation
from tests.waiting import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.slow, pytest.mark.xdist_group("faults")]

QUEUE = "installation:florin"
Trouble = Callable[[Florin], AbstractContextManager[None]]

# Where each kind of process is in the middle of a transaction: some of it written, nothing committed.
WATCHER, WORKER, SENDER = ("watcher", "wallets_block"), ("worker", "checkouts_payment"), ("sender", "webhooks_attempt")
ACCOUNT_WATCHER = ("watcher", "wallets_accountcursor")
CUT_OFF: dict[str, list[tuple[tuple[str, str], Callable[[Any, str], None]]]] = {
    "installation": sample(
        [
            (WATCHER, kill_server),
            (WORKER, kill_server),
            (WORKER, kill_backend),
            (SENDER, kill_server),
            (SENDER, shut_down),
        ],
        3,
    ),
    "accounts": [(ACCOUNT_WATCHER, kill_server), (WORKER, kill_backend)],
}


@pytest.mark.parametrize(
    ("kind", "where", "stop"),
    [
        pytest.param(kind, where, stop, id=f"{kind}-{where[0]}-{stop.__name__}")
        for kind, cases in CUT_OFF.items()
        for where, stop in cases
    ],
)
def test_a_transaction_cut_off_by_the_server_loses_nothing(
    kind: str, where: tuple[str, str], stop: Callable[[Florin, str], None], request: pytest.FixtureRequest
) -> None:
    florin: Installation | AccountInstallation = request.getfixturevalue(kind)
    process, table = where
    name = florin.the(process)
    with florin.database.holding_up_writes(table):
        florin.pay_new(2)
        florin.finalize()
        wait_until(lambda: florin.database.is_held_up(name))
        stop(florin, name)
    settle(florin)
    florin.pay_new()
    settle(florin)
    assert all(florin.exit_status(one) is None for one in florin.names)


@pytest.mark.parametrize("trouble", [away, hanging])
def test_payments_are_credited_and_told_without_valkey_and_after_it_is_back(
    installation: Installation, trouble: Trouble
) -> None:
    paid, topped_up = installation.create_checkouts(2)
    with trouble(installation):
        installation.pay(paid)
        installation.pay(topped_up, 4 * DOLLAR)
        settle(installation)
    installation.pay(topped_up, 6 * DOLLAR)
    installation.pay_new()
    settle(installation)


@pytest.mark.parametrize("trouble", [away, hanging])
def test_exact_amounts_are_credited_and_told_without_valkey_and_after_it_is_back(
    accounts: AccountInstallation, trouble: Trouble
) -> None:
    dues = [accounts.choose(one, "solana") for one in accounts.create_checkouts(2)]
    with trouble(accounts):
        for due in dues:
            accounts.pay(due)
        settle(accounts)
    accounts.pay_new()
    settle(accounts)


@pytest.fixture
def client(installation: Installation) -> Iterator[redis.Redis]:
    """The test's own connection to the installation's Valkey."""
    with redis.Redis.from_url(installation.valkey.url) as client:
        yield client


def test_bells_that_are_flushed_away_are_not_missed(installation: Installation, client: redis.Redis) -> None:
    worker = installation.the("worker")
    installation.freeze(worker)
    installation.pay_all(installation.create_checkouts(2))
    wait_until(lambda: client.llen(QUEUE))
    client.flushall()
    installation.thaw(worker)
    settle(installation)


def test_flushing_again_and_again_stops_nothing(installation: Installation, client: redis.Redis) -> None:
    for checkout in installation.create_checkouts(5):
        installation.pay(checkout)
        client.flushall()
        installation.finalize()
        client.flushall()
    settle(installation)


def test_everything_killed_at_once_in_a_stream_of_payments_goes_on_where_it_was(accounts: AccountInstallation) -> None:
    sent = accounts.pay_new(2)
    wait_until(partial(_are_recorded, accounts, sent, len(sent) // 2))
    for name in accounts.names:
        accounts.kill(name)
    accounts.valkey.stop()
    killed = accounts.engines.pids["postgres"]
    kill_server(accounts, "")
    for one in sent:
        accounts.pay(one.due)
    wait_until(partial(_is_replaced, accounts, killed))
    accounts.restore()
    settle(accounts)


def _are_recorded(accounts: AccountInstallation, sent: list[Sent], wanted: int) -> bool:
    """Whether as many of these payments are recorded at least."""
    return sum(map(bool, accounts.states(sent))) >= wanted


def _is_replaced(accounts: AccountInstallation, killed: int) -> bool:
    """Whether another PostgreSQL answers than the one that was killed, whose children live on for a moment."""
    if accounts.engines.pids.get("postgres", killed) == killed:
        return False
    # A connection of before may still seem to be one.
    accounts.database.close()
    try:
        return bool(accounts.database.now())
    except psycopg.OperationalError:
        return False
