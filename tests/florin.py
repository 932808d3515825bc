"""A whole Florin for tests, of real processes that can be killed and frozen.

It has engines of its own, a node per chain behind two proxies, a merchant whose webhooks arrive at a receiver in the
test process, and any number of watchers, senders, workers and beats. `tests.installation` has one on Base and
Polygon, `tests.faults.accountinstallation` one on Solana and TON.
"""

import itertools
import os
import shutil
import signal
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from cryptography.fernet import Fernet

from gateway.core.embedded import Engines
from gateway.processes.stack import CELERY, MANAGE
from tests.clerks import Clerk
from tests.database import Database
from tests.freezing import freeze_group
from tests.ownvalkey import OwnValkey
from tests.template_database import fill
from tests.timed import timed
from tests.waiting import PATIENCE_SECONDS, comes_true, wait_until
from tests.webhooks.receiver import Receiver, Reply, receiving

_STACKS_SECONDS = 2.0
_MOST_CHARACTERS = 8_000


class Child:
    """A process that `Nursery.start` started; it leads a group of its own."""

    def __init__(self, nursery: Clerk, pid: int, *, name: str, log: Path) -> None:
        self.pid = pid
        self._nursery = nursery
        self._name = name
        self._log = log
        self._status: int | None = None

    def poll(self) -> int | None:
        """What it ended with, negative for a signal; None while it runs."""
        if self._status is None:
            self._status = self._nursery.ask("poll", pid=self.pid)
        return self._status

    def wait(self, seconds: float) -> None:
        """Return once it has ended. Raises TimeoutError, which says where each of its threads is."""
        if not comes_true(lambda: self.poll() is not None, seconds=seconds):
            raise TimeoutError(f"{self._name} still runs: {self._stacks()}")

    def _stacks(self) -> str:
        before = self._log.stat().st_size
        os.kill(self.pid, signal.SIGUSR1)
        comes_true(lambda: self._log.stat().st_size > before, seconds=_STACKS_SECONDS)
        return self._log.read_text(errors="replace")[-_MOST_CHARACTERS:]

    def terminate(self) -> None:
        """Ask it to end; harmless after its end."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGTERM)


class Nursery:
    """The process of `tests.nursery` in an environment. Use it as a context manager; its children end with it."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._clerk = Clerk("tests.nursery", environment)

    def start(self, argv: Sequence[str], *, name: str, log: Path) -> Child:
        """Run what a command line says, whose first word is the interpreter; PostgreSQL knows it by its name."""
        pid = self._clerk.ask("start", argv=list(argv), name=name, log=str(log))
        return Child(self._clerk, pid, name=name, log=log)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._clerk.close()


SENDER_LEASE_SECONDS = 2
KINDS = ("watcher", "sender", "worker", "beat")

# What the test session set for itself must not reach the processes of an installation.
_OURS = (
    "DATABASE_URL",
    "DATABASE_DIRECT_URL",
    "DATABASE_PREPARE",
    "REDIS_URL",
    "FLORIN_KEY_PREFIX",
    "FLORIN_TEST_DB_SUFFIX",
)

OnChain = tuple[str, str, str, str, int]
"""A transfer to one of our addresses: chain, transaction hash, token, recipient, base units."""


class Florin(ABC):
    """Use it as a context manager. One process of each kind runs; tests end them, and start more."""

    def __init__(self) -> None:
        self.webhook_secret = ""
        self.live_key = ""
        # Which checkout a payment was made for, by chain and transaction, where only its amount or a label tells.
        self.meant: dict[tuple[str, str], str] = {}
        self._processes: dict[str, Child] = {}
        self._frozen: set[str] = set()
        self._numbers = itertools.count(1)
        self._exits = ExitStack()

    @property
    @abstractmethod
    def chains(self) -> Sequence[str]:
        """The names of its chains."""

    @property
    @abstractmethod
    def wallets(self) -> Mapping[str, str]:
        """The merchant's wallet on each chain."""

    @abstractmethod
    def behave(self) -> None:
        """Let all nodes be honest again."""

    @abstractmethod
    def finalize(self) -> None:
        """Let so many blocks pass that all that is on the chains now is final."""

    @abstractmethod
    def payments(self) -> Iterator[OnChain]:
        """Every transfer to our addresses that is on the chains now, asked of the nodes themselves."""

    @abstractmethod
    def _open_chains(self) -> None:
        """Start the nodes, to be stopped in the end."""

    @abstractmethod
    def _chain_settings(self) -> dict[str, str]:
        """What the processes' environment says of the chains."""

    @timed("installation starts")
    def __enter__(self) -> Self:
        try:
            self._open()
        except BaseException:
            self._exits.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._exits.close()

    def _open(self) -> None:
        # Not below a private folder: root's engines run as another user.
        self.home = Path(tempfile.mkdtemp(prefix="florin-installation-"))
        self.home.chmod(0o755)
        self._exits.callback(shutil.rmtree, self.home)
        # Durable, because what was committed must outlive a kill -9 of the server.
        self.engines = Engines(self.home / "engines")
        database_url = self._exits.enter_context(self.engines).database_url
        self.database = Database(database_url)
        self._exits.callback(self.database.close)
        self.valkey = OwnValkey(self.home / "valkey")
        self._exits.callback(self.valkey.stop)
        self.valkey.start()
        self.receiver: Receiver = self._exits.enter_context(receiving())
        self._open_chains()
        self.environment = self._environment()
        # It imports while the books are opened.
        self._nursery = self._exits.enter_context(Nursery(self.environment))
        self._open_books()
        self._exits.callback(self._end_processes)
        self.restore()
        self._await_offers()

    def restore(self) -> None:
        """Undo what a test did: honest nodes, a quick receiver, all engines, one process of each kind at work."""
        self.behave()
        self.receiver.reply = lambda _got: Reply()
        self.valkey.ensure()
        for kind in KINDS:
            self._have_one(kind)
        # What the processes that are gone held would keep the others waiting.
        self.end_leases()
        wait_until(lambda: all(self.watcher_of(chain) for chain in self.chains))

    def _have_one(self, kind: str) -> None:
        running = self.running(kind)
        for name in running[1:]:
            self.kill(name)
        if not running:
            self.start(kind)

    def _open_books(self) -> None:
        is_migrated = fill(self.database.url)
        self.clerk = Clerk("tests.clerk", self.environment)
        self._exits.callback(self.clerk.close)
        given = {"wallets": dict(self.wallets), "webhook_url": self.receiver.url, "is_migrated": is_migrated}
        made = self.clerk.ask("set_up", **given)
        self.live_key, self.webhook_secret = made["live_key"], made["webhook_secret"]

    def _environment(self) -> dict[str, str]:
        inherited = {k: v for k, v in os.environ.items() if k not in _OURS}
        return {
            **inherited,
            **self._chain_settings(),
            "CHAIN_NETWORK": "local",
            "CHAIN_POLL_SECONDS": "0.2",
            "DATABASE_URL": self.database.url,
            "REDIS_URL": self.valkey.url,
            "DJANGO_SETTINGS_MODULE": "gateway.settings",
            "ENCRYPTION_KEYS": Fernet.generate_key().decode(),
            "FLORIN_ENV": "development",
            "FLORIN_KEY_PREFIX": "installation",
            "FLORIN_VAR": str(self.home / "var"),
            "PYTHONUNBUFFERED": "1",
            # It would ask the nodes in the middle of some test (test_sources shows what it does).
            "RECONCILE_SECONDS": "0",
            "WEBHOOK_ALLOW_LOOPBACK": "true",
        }

    def _await_offers(self) -> None:
        """Return once a new checkout offers every chain."""
        wait_until(lambda: len(self.clerk.ask("offered")) == len(self.chains), pause=0.05)

    @timed("process starts")
    def start(self, kind: str, *argv: str) -> str:
        """Start a process and return its name, such as "watcher-5". `argv` instead of what its kind runs, where given."""
        name = f"{kind}-{next(self._numbers)}"
        self._processes[name] = self._nursery.start(argv or self._argv(name), name=name, log=self.log(name))
        return name

    def running(self, kind: str) -> list[str]:
        """The processes of a kind that live, thawed if they were frozen; the eldest first."""
        for name in list(self._frozen):
            self.thaw(name)
        for name in [n for n, p in self._processes.items() if p.poll() is not None]:
            self.kill(name)
        return [name for name in self._processes if name.startswith(f"{kind}-")]

    def the(self, kind: str) -> str:
        """The only process of a kind."""
        [name] = (name for name in self._processes if name.startswith(f"{kind}-"))
        return name

    @property
    def names(self) -> list[str]:
        """The processes that were started and not killed."""
        return list(self._processes)

    def kill(self, name: str) -> None:
        """Kill a process and its children as kill -9 does."""
        process = self._processes.pop(name)
        self._frozen.discard(name)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(PATIENCE_SECONDS)

    def freeze(self, name: str) -> None:
        """Stop a process and its children in the middle of what they do, as a paused machine would."""
        self._frozen.add(name)
        freeze_group(self._processes[name].pid)

    def thaw(self, name: str) -> None:
        """Let a frozen process go on."""
        os.killpg(self._processes[name].pid, signal.SIGCONT)
        self._frozen.discard(name)

    def pid(self, name: str) -> int:
        """A process's id."""
        return self._processes[name].pid

    def exit_status(self, name: str) -> int | None:
        """What a process ended with; None while it runs."""
        return self._processes[name].poll()

    def log(self, name: str) -> Path:
        """Where a process's output goes."""
        return self.home / f"{name}.log"

    def name_of(self, pid: str) -> str:
        """The process with this id; empty for one that is not ours any more."""
        names = {str(process.pid): name for name, process in self._processes.items()}
        return names.get(pid, "")

    def _argv(self, name: str) -> Sequence[str]:
        kind, alone = name.split("-")[0], ("--without-gossip", "--without-mingle")
        quiet, one = ("--loglevel", "WARNING"), ("--concurrency", "1")
        beat = ("--schedule", str(self.home / name), "--pidfile=")
        lease = ("--lease-seconds", str(SENDER_LEASE_SECONDS))
        return {
            "watcher": (*MANAGE, "run_watchers"),
            "sender": (*MANAGE, "run_sender", *lease),
            # Watchers and senders are processes that tests end one by one.
            "worker": (*CELERY, "gateway.celery", "worker", *alone, *one, "--roles", "tasks", *quiet),
            "beat": (*CELERY, "gateway.beat", "beat", *beat, *quiet),
        }[kind]

    def _create_checkouts(self, count: int, amount: str) -> list[dict[str, Any]]:
        self._await_offers()
        created: list[dict[str, Any]] = self.clerk.ask("create_checkouts", count=count, amount=amount)
        return created

    def _end_processes(self) -> None:
        self.behave()
        self.valkey.ensure()
        for name in list(self._frozen):
            self.thaw(name)
        for process in self._processes.values():
            process.terminate()
        for name in list(self._processes):
            try:
                self._processes[name].wait(PATIENCE_SECONDS)
            finally:
                self.kill(name)

    def watcher_of(self, chain: str) -> str:
        """The process that has a chain's lease; empty if none of ours has."""
        owner = self.database.value(
            "SELECT owner FROM wallets_chaincursor WHERE chain = %s AND lease_until > clock_timestamp()", chain
        )
        return self.name_of((owner or "::").split(":")[1])

    def sender_of_webhooks(self) -> str:
        """The process that serves the merchant's endpoint; empty if none of ours does."""
        sender = self.database.value("SELECT served_by FROM webhooks_endpoint WHERE served_until > clock_timestamp()")
        return self.name_of((sender or "--").split("-")[-2])

    def end_leases(self) -> None:
        """Let the time of the watchers' leases have passed."""
        self.database.rows("UPDATE wallets_chaincursor SET lease_until = 'epoch'")
