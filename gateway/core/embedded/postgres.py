"""One PostgreSQL cluster: create, start, wait until ready."""

import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from gateway.core.embedded.account import Account, give, initdb_account
from gateway.core.embedded.errors import EnginesError
from gateway.core.embedded.layout import SOCKET_PORT, Layout, write_private
from gateway.core.embedded.leftovers import clear_leftovers
from gateway.core.embedded.processes import Command, run_as

NAME = "postgres"
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
READY_LINE = 7  # of postmaster.pid, LOCK_FILE_LINE_PM_STATUS in PostgreSQL's miscadmin.h


class Postgres:
    """The cluster of one layout, run by the programs in `binaries`.

    User and database are named florin; connections use the socket only, with a
    password (SCRAM).
    """

    name = NAME

    def __init__(self, layout: Layout, binaries: Path, *, durable: bool) -> None:
        self.layout = layout
        self.binaries = binaries
        self.pid_file = layout.pg_data / "postmaster.pid"
        self.settings = SETTINGS if durable else SETTINGS | SCRATCH_SETTINGS

    @property
    def url(self) -> str:
        """Return a libpq URI, password included."""
        password = quote(self.layout.password(NAME), safe="")
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

    def _initdb(self, folder: Path, account: Account) -> None:
        # A file and not a pipe: another uid may not reopen root's /dev/fd.
        password_file = self.layout.data / "initdb.password"
        write_private(password_file, self.layout.password(NAME) + "\n")
        give(password_file, account)
        where = (f"--pgdata={folder}", f"--pwfile={password_file}")
        argv: list[str | Path] = [self.binaries / "initdb", "--username=florin"]
        argv += [*where, *INITDB_OPTIONS]
        try:
            self._run(argv, account)
        finally:
            password_file.unlink()

    def _run(self, argv: Sequence[str | Path], account: Account, *, stdin: str = "") -> None:
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

    def command(self) -> Command:
        options = {"unix_socket_directories": self.layout.run, "port": SOCKET_PORT}
        settings = [f"--{k}={v}" for k, v in (self.settings | options).items()]
        return Command(
            name=NAME,
            argv=[self.binaries / "postgres", "-D", self.layout.pg_data, *settings],
            log=self.layout.log(NAME),
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

    def ready(self, pid: int) -> bool:
        """Return whether the server with this process id accepts connections."""
        try:
            lines = self.pid_file.read_text().split("\n")
        except OSError:
            return False
        return lines[0] == str(pid) and lines[READY_LINE:][:1] == ["ready   "]
