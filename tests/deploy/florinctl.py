"""florinctl as a module, with a PostgreSQL of its own that archives its WAL."""

import importlib.machinery
import importlib.util
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from gateway.core.embedded.account import EngineAccount
from gateway.core.embedded.engines import find_binaries
from tests.tree import ROOT

PROGRAM = ROOT / "deploy" / "florinctl"


def load() -> ModuleType:
    """The program, imported."""
    loader = importlib.machinery.SourceFileLoader("florinctl", str(PROGRAM))
    spec = importlib.util.spec_from_loader("florinctl", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    # Its dataclasses look for it there.
    sys.modules["florinctl"] = module
    loader.exec_module(module)
    return module


florinctl: Any = load()


def write_env(folder: Path, **values: str) -> Path:
    """An environment file that only its owner reads."""
    file = folder / "florin.env"
    file.write_text("".join(f"{name}={value}\n" for name, value in values.items()))
    file.chmod(0o600)
    return file


def settings_of(folder: Path, **values: str) -> Any:
    """Settings of a file in `folder`; all that is kept lies below it."""
    places = {
        "FLORIN_VAR": folder / "var",
        "BACKUP_DIR": folder / "backups",
        "BACKUP_KEYS_DIR": folder / "keys",
        "BACKUP_WAL_SPOOL": folder / "spool",
    }
    env = {name: str(place) for name, place in places.items()} | values
    file = write_env(folder, **env)
    return florinctl.Settings(file, florinctl.read_env(file))


class Server:
    """A PostgreSQL that is set up as the guide says, in a folder that its user can reach."""

    def __init__(self, home: Path, binaries: Path, user: str | None) -> None:
        self.home, self.data = home, home / "data"
        self.postgres = florinctl.Postgres(binaries, user)
        self.spool = home / "spool"
        self.url = f"postgresql://florin@/florin?host={home}&port=5432"
        self.user = user

    def create(self) -> None:
        """Make the cluster, and start it."""
        self.postgres.give(self.home)
        self.postgres.give(self.spool)
        self.postgres.run("initdb", "--username=florin", "--pgdata", self.data, "--auth=trust")
        to = self.spool
        copy = f"test ! -f {to}/%f && cp %p {to}/.%f && sync {to}/.%f && mv {to}/.%f {to}/%f && sync {to}"
        lines = [
            f"unix_socket_directories = '{self.home}'",
            "listen_addresses = ''",
            "port = 5432",
            "summarize_wal = on",
            "archive_mode = on",
            f"archive_command = '{copy}'",
        ]
        with (self.data / "postgresql.conf").open("a") as file:
            file.write("\n".join(lines) + "\n")
        self.start()
        florinctl.ask(self.postgres, self.url.replace("/florin?", "/postgres?"), "CREATE DATABASE florin")

    def start(self) -> None:
        self._control("start", "--log", self.home / "log")

    def stop(self) -> None:
        self._control("stop", "--mode", "immediate")

    def _control(self, verb: str, *more: str | Path) -> None:
        self.postgres.run("pg_ctl", verb, "--pgdata", self.data, "--wait", "--silent", *more)

    def sql(self, statement: str) -> str:
        """What a statement answers."""
        return str(florinctl.ask(self.postgres, self.url, statement))

    def settings(self, **values: str) -> Any:
        """florinctl's settings for this server."""
        folder = self.home / "ours"
        folder.mkdir(exist_ok=True)
        folder.chmod(0o755)
        more = {
            "DATABASE_URL": self.url,
            "BACKUP_WAL_SPOOL": str(self.spool),
            "PG_BIN": str(self.postgres.folder),
            "FLORIN_PYTHON": sys.executable,
            "FLORIN_HOME": str(ROOT),
        }
        if self.user:
            more["PG_USER"] = self.user
        return settings_of(folder, **(more | values))


@contextmanager
def server() -> Iterator[Server]:
    """A server that archives its WAL, stopped and removed in the end."""
    root = os.geteuid() == 0
    user = "nobody" if root else None
    home = Path(tempfile.mkdtemp(prefix="florinctl-test-"))
    home.chmod(0o755)
    account = pwd.getpwnam("nobody") if root else None
    uid, gid = (account.pw_uid, account.pw_gid) if account else (0, 0)
    binaries = find_binaries(EngineAccount(uid=uid, gid=gid, switches=root)).postgres
    made = Server(home, binaries, user)
    try:
        made.create()
        yield made
    finally:
        with_server = (made.data / "postmaster.pid").exists()
        if with_server:
            made.stop()
        shutil.rmtree(home)


def call(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the program as an operator does."""
    return subprocess.run(
        [sys.executable, "-I", str(PROGRAM), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.environ["PATH"], **environment},
    )
