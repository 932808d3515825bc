"""The supervisor of one home: PostgreSQL and Valkey, kept running, and their connection URLs."""

import fcntl
import json
import logging
import os
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO
from urllib.parse import parse_qs, urlsplit

from gateway.core.embedded.account import EnginesBusyError, EnginesError
from gateway.core.embedded.engines import Postgres, Valkey, clear_leftovers, find_binaries
from gateway.core.embedded.layout import Layout, write_private
from gateway.core.embedded.processes import Keeper

logger = logging.getLogger(__name__)

START_SECONDS = 60.0
# The backends of a killed postmaster hold its shared memory for a moment, so the
# first tries of the next one may fail.
START_TRIES = 6
LOG_TAIL = 2_000
STEP_SECONDS = 0.01
# `running_urls` holds the lock for an instant while it checks.
LOCK_TRIES = 10


@dataclass(frozen=True)
class EngineUrls:
    """Connection URLs. They contain passwords, so never log one.

    `database_url` is a libpq URI whose host is a socket folder (parse it with
    `psycopg.conninfo`); `redis_url` is in redis-py's form (`unix://`).
    """

    database_url: str = field(repr=False)
    redis_url: str = field(repr=False)


def celery_url(redis_url: str) -> str:
    """Return the URL of the same server in the form that kombu and Celery accept.

    redis-py writes a socket as `unix://:pw@/path?db=0`, kombu as `redis+socket://:pw@/path?virtual_host=0`; other URLs are
    returned unchanged.
    """
    if not redis_url.startswith("unix://"):
        return redis_url
    parts = urlsplit(redis_url)
    database = parse_qs(parts.query).get("db", ["0"])[0]
    return f"redis+socket://{parts.netloc}{parts.path}?virtual_host={database}"


class Engines:
    """PostgreSQL 18 and Valkey for one home folder, owned by this process.

    `durable=False` is for tests: nothing is synced to disk, and every start begins
    with empty engines. Not for two threads at once.
    """

    def __init__(self, home: Path, *, durable: bool = True) -> None:
        self.layout = Layout(home)
        self.durable = durable
        self._lock: IO[str] | None = None
        self._keeper: Keeper | None = None

    @property
    def pids(self) -> dict[str, int]:
        """Return the process ids of the running engines by name ("postgres", "valkey")."""
        return self._keeper.pids if self._keeper else {}

    def start(self) -> EngineUrls:
        """Start both engines and return once both answer.

        Raises `EnginesBusyError` when another supervisor holds this home, and
        `EnginesError` with the end of the log when an engine does not start.
        """
        self._take_lock()
        try:
            return self._start()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop the engines that this supervisor started; does nothing if none runs."""
        if self._lock is None:
            return
        if self._keeper is not None:
            self._keeper.stop()
            self._keeper = None
        self.layout.state_file.unlink(missing_ok=True)
        self._lock.close()
        self._lock = None

    def __enter__(self) -> EngineUrls:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _take_lock(self) -> None:
        self.layout.open_home()
        lock = self.layout.lock_file.open("w")
        for _ in range(LOCK_TRIES):
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(STEP_SECONDS)
            else:
                self._lock = lock
                return
        lock.close()
        message = f"another supervisor runs the engines in {self.layout.home}"
        raise EnginesBusyError(message)

    def _start(self) -> EngineUrls:
        binaries = find_binaries(self.layout.account)
        postgres = Postgres(self.layout, binaries.postgres, durable=self.durable)
        valkey = Valkey(self.layout, binaries.valkey, durable=self.durable)
        if not self.durable:
            self._empty(postgres, valkey)
        self.layout.open_data()
        valkey.create()
        postgres.create()
        self._keeper = Keeper([valkey.command(), postgres.command()], told=logger.warning)
        self._keeper.start()
        self._await(postgres, valkey)
        urls = EngineUrls(postgres.url, valkey.url)
        self._write_state(urls)
        return urls

    def _empty(self, postgres: Postgres, valkey: Valkey) -> None:
        """Delete unsynced engines' files: after a crash they may be damaged."""
        for engine in (postgres, valkey):
            clear_leftovers(engine, engine.command().stop_signal)
        for folder in (self.layout.pg_data, self.layout.valkey_data):
            shutil.rmtree(folder, ignore_errors=True)

    def _await(self, *engines: Postgres | Valkey) -> None:
        deadline = time.monotonic() + START_SECONDS
        for engine in engines:
            while not self._ready(engine):
                gave_up = self._exits(engine) >= START_TRIES
                if gave_up or time.monotonic() > deadline:
                    raise EnginesError(self._failure(engine))
                time.sleep(STEP_SECONDS)

    def _ready(self, engine: Postgres | Valkey) -> bool:
        # Before our child runs, an orphan may still answer.
        return engine.name in self.pids and engine.ready()

    def _exits(self, engine: Postgres | Valkey) -> int:
        return self._keeper.exits(engine.name) if self._keeper else 0

    def _failure(self, engine: Postgres | Valkey) -> str:
        log = self.layout.log(engine.name)
        tail = log.read_text(errors="replace")[-LOG_TAIL:] if log.exists() else ""
        return f"{engine.name} does not start; the end of {log}:\n{tail}"

    def _write_state(self, urls: EngineUrls) -> None:
        state = {"database_url": urls.database_url, "redis_url": urls.redis_url, "supervisor": os.getpid()}
        write_private(self.layout.state_file, json.dumps(state))


def running_urls(home: Path) -> EngineUrls | None:
    """Return the URLs of the engines that another process runs in `home`, or None.

    The lock decides whether it is alive: a kill -9 leaves the state file behind.
    """
    layout = Layout(home)
    if not _locked(layout.lock_file):
        return None
    try:
        state = json.loads(layout.state_file.read_text())
    except FileNotFoundError:  # still starting
        return None
    return EngineUrls(state["database_url"], state["redis_url"])


def _locked(path: Path) -> bool:
    try:
        with path.open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False
