"""One Celery worker reads the chains and delivers webhooks beside its tasks, whatever becomes of its processes."""

import os
import signal
from collections.abc import Callable, Iterator
from functools import partial

import pytest
from psutil import Process

from gateway.processes.stack import CELERY
from tests.faults.oracle import settle
from tests.faults.outages import away, kill_server
from tests.installation import Installation
from tests.processes import Gone, descendants
from tests.waiting import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.slow, pytest.mark.xdist_group("faults")]

LOOPS = ("run_watchers", "run_sender")
ORPHAN_SECONDS = 5.0

StartWorker = Callable[..., str]


@pytest.fixture
def start_worker(installation: Installation) -> Iterator[StartWorker]:
    """Starts workers with these options, with no watcher, sender or worker beside them but such ones."""
    for kind in ("watcher", "sender", "worker"):
        installation.kill(installation.the(kind))
    give_leases_up(installation)

    def start(*options: str) -> str:
        alone = ("--without-gossip", "--without-mingle", "--concurrency", "1")
        quiet = ("--loglevel", "WARNING")
        return installation.start("worker", *CELERY, "gateway.celery", "worker", *alone, *quiet, *options)

    yield start
    for worker in installation.running("worker"):
        # They are looked for among the worker's own children, which it has no more once it is gone.
        loops = loops_of(installation, worker)
        installation.kill(worker)
        wait_until(Gone(loops.values()))


def give_leases_up(installation: Installation) -> None:
    """Let what was killed hold nothing any more."""
    installation.end_leases()
    installation.database.rows("UPDATE webhooks_endpoint SET served_until = 'epoch'")


def loops_of(installation: Installation, worker: str) -> dict[str, Process]:
    """The processes of a worker's loops."""
    lines = descendants(installation.pid(worker)).items()
    return {loop: process for process, line in lines for loop in LOOPS if loop in line}


def has_loops(installation: Installation, worker: str, *, but: Process | None = None) -> bool:
    """Whether both loops of a worker run, neither of them the process `but`."""
    loops = loops_of(installation, worker)
    return loops.keys() == {*LOOPS} and but not in loops.values()


def whole_worker(installation: Installation, start_worker: StartWorker) -> str:
    """A worker whose loops run."""
    worker = start_worker()
    wait_until(partial(has_loops, installation, worker))
    return worker


def pay_some(installation: Installation) -> None:
    """Pay two checkouts on each chain, and wait until everything is credited and told."""
    installation.pay_new(2)
    settle(installation)


@pytest.mark.parametrize("pool", ["prefork", "solo", "threads"])
def test_a_worker_alone_reads_credits_and_delivers_until_it_is_told_to_end(
    installation: Installation, start_worker: StartWorker, pool: str
) -> None:
    worker = start_worker("--pool", pool)
    pay_some(installation)
    loops, pid = loops_of(installation, worker), installation.pid(worker)
    assert loops.keys() == {*LOOPS}
    # Ctrl-C in the worker's terminal is none to them.
    assert os.getsid(pid) not in [os.getsid(loop.pid) for loop in loops.values()]
    os.kill(pid, signal.SIGTERM)
    wait_until(lambda: installation.exit_status(worker) is not None)
    assert installation.exit_status(worker) == 0
    gone = Gone(loops.values())
    assert gone(), gone
    assert all(owner == "" for (owner,) in installation.database.rows("SELECT owner FROM wallets_chaincursor"))


def test_a_loop_that_is_killed_is_started_again(installation: Installation, start_worker: StartWorker) -> None:
    worker = whole_worker(installation, start_worker)
    for loop in LOOPS:
        killed = loops_of(installation, worker)[loop]
        killed.kill()
        wait_until(partial(has_loops, installation, worker, but=killed))
    give_leases_up(installation)
    pay_some(installation)


def test_of_two_workers_one_goes_on_when_the_other_is_killed_and_its_loops_end(
    installation: Installation, start_worker: StartWorker
) -> None:
    first, _ = (whole_worker(installation, start_worker) for _ in "ab")
    installation.pay_all(installation.create_checkouts(3))
    loops = loops_of(installation, first)
    installation.kill(first)
    wait_until(Gone(loops.values()), seconds=ORPHAN_SECONDS)
    give_leases_up(installation)
    pay_some(installation)


def test_watching_and_sending_go_on_without_the_broker(installation: Installation, start_worker: StartWorker) -> None:
    worker = whole_worker(installation, start_worker)
    loops = loops_of(installation, worker)
    with away(installation):
        pay_some(installation)
    assert loops_of(installation, worker) == loops
    pay_some(installation)


def test_everything_goes_on_after_the_database_was_killed(
    installation: Installation, start_worker: StartWorker
) -> None:
    worker = whole_worker(installation, start_worker)
    installation.pay_all(installation.create_checkouts(2))
    kill_server(installation, worker)
    settle(installation)


def test_each_worker_takes_the_roles_it_is_given(installation: Installation, start_worker: StartWorker) -> None:
    roles = {"watch": ["run_watchers"], "send": ["run_sender"], "tasks": []}
    workers = {role: start_worker("--roles", role) for role in roles}
    pay_some(installation)
    taken = {role: [*loops_of(installation, worker)] for role, worker in workers.items()}
    assert taken == roles
