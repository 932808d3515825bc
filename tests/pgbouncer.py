"""PgBouncer in transaction mode between the tests and PostgreSQL, where FLORIN_TEST_PGBOUNCER is set.

`script/test --all` sets it. Then tests that look at sessions, or end them, are left out (marked `sessions`); those that are about the
pooler run only then (marked `pooler`).
"""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import MutableMapping
from pathlib import Path
from typing import Final
from urllib.parse import quote

import pytest
from psycopg.conninfo import conninfo_to_dict

from gateway.core.embedded.account import EngineAccount, EnginesError, give
from gateway.core.embedded.processes import ChildCommand, spawn
from tests.waiting import PATIENCE_SECONDS

ASKED_BY: Final = "FLORIN_TEST_PGBOUNCER"
START_SECONDS: Final = PATIENCE_SECONDS
_PORT: Final = 6432
# Kept open and served in turn, so that each transaction is in another session than the last.
_LEAST_SESSIONS: Final = 4
_CONFIGURATION: Final = """\
[databases]
* = host={host} port={port} user={user} password={password}
[pgbouncer]
listen_addr =
listen_port = {listen_port}
unix_socket_dir = {folder}
unix_socket_mode = 0700
auth_type = any
pool_mode = transaction
min_pool_size = {sessions}
default_pool_size = 60
max_db_connections = 60
max_client_conn = 1000
server_round_robin = 1
pidfile =
"""


def is_asked_for() -> bool:
    """Whether the tests shall reach PostgreSQL through PgBouncer."""
    return bool(os.environ.get(ASKED_BY))


_running: list[tuple["subprocess.Popen[bytes]", Path]] = []


def start(environment: MutableMapping[str, str], account: EngineAccount) -> None:
    """Start PgBouncer as `account` until `stop`, and name it as the database, with prepared statements off."""
    direct = environment["DATABASE_URL"]
    server = conninfo_to_dict(direct)
    folder = Path(tempfile.mkdtemp(prefix="florin-pgbouncer-"))
    (folder / "pgbouncer.ini").write_text(
        _CONFIGURATION.format(
            **{name: server[name] for name in ("host", "port", "user", "password")},
            folder=folder,
            listen_port=_PORT,
            sessions=_LEAST_SESSIONS,
        )
    )
    give(folder, account)
    command = ChildCommand(
        name="pgbouncer",
        argv=[_program(), "--quiet", folder / "pgbouncer.ini"],
        log=folder / "log",
        cwd=folder,
        env={},
        account=account,
    )
    _running.append((spawn(command), folder))
    deadline = time.monotonic() + START_SECONDS
    while not (folder / f".s.PGSQL.{_PORT}").exists():
        if time.monotonic() > deadline:
            raise EnginesError((folder / "log").read_text())
        time.sleep(0.02)
    where = f"host={quote(str(folder), safe='')}&port={_PORT}"
    environment["DATABASE_URL"] = f"postgresql://{server['user']}@/{server['dbname']}?{where}"
    environment["DATABASE_DIRECT_URL"] = direct
    environment["DATABASE_PREPARE"] = "off"


def stop() -> None:
    """End what `start` started."""
    while _running:
        process, folder = _running.pop()
        process.terminate()
        process.wait()
        shutil.rmtree(folder)


def _program() -> str:
    # Debian puts it where the paths of people who are not root do not lead.
    found = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if found is None:
        raise EnginesError("pgbouncer is not installed")
    return found


def keep_fitting(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests that are not for this way to the database."""
    unfit = "sessions" if is_asked_for() else "pooler"
    left_out = [item for item in items if item.get_closest_marker(unfit)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in set(left_out)]
