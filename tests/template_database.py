"""Pytest plugin: each worker's database is a copy of a template that was migrated once.

Migrating takes fifteen seconds of processor time, copying a tenth of a second. A server that goes on keeps the template; for
those that begin empty a dump of it stays under var/, which is read in a second. A changed migration or lock file makes a new one.
"""

import hashlib
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from django.apps import apps
from django.conf import settings
from django.db import connection
from django.db.backends.utils import CursorWrapper
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from pytest_django import DjangoDbBlocker

from gateway.core.embedded.engines import find_binaries
from gateway.core.embedded.layout import Layout
from gateway.core.postgres.base import LIMIT_PAUSES
from tests.tree import ROOT

TEMPLATE = "florin_template"
KEPT = ROOT / "var" / "test-engines" / "templates"
"""Where the dump of the last template is, named by its fingerprint."""
# Any number that nothing else on the server locks.
_LOCK = 0x464C524E
_COMMENT = "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = %s"


@pytest.fixture(scope="session")
def django_db_setup(
    django_test_environment: None, django_db_modify_db_settings: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[None]:
    """Copy the template to this worker's database, and drop the copy at the end.

    It takes the place of pytest-django's fixture, which migrates a database for each worker.
    """
    name = str(connection.settings_dict["TEST"]["NAME"])
    served = str(connection.settings_dict["NAME"])
    with django_db_blocker.unblock():
        with _directly(), connection._nodb_cursor() as server:
            # Workers start together; the lock ends with this connection.
            server.execute("SELECT pg_advisory_lock(%s)", [_LOCK])
            _ensure_template(server)
            _run(server, "DROP DATABASE IF EXISTS {} WITH (FORCE)", name)
            _run(server, "CREATE DATABASE {} TEMPLATE {}", name, TEMPLATE)
        _use(name)
    yield
    with django_db_blocker.unblock():
        _use(served)
        with _directly(), connection._nodb_cursor() as server:
            _run(server, "DROP DATABASE IF EXISTS {} WITH (FORCE)", name)


@contextmanager
def another_copy(purpose: str) -> Iterator[str]:
    """Copy the template to one more database until the block ends; yield its URL. `django_db_setup` made the template."""
    # Sessions that run at the same time share the server.
    name = f"{connection.settings_dict['TEST']['NAME']}_{purpose}"
    direct = urlsplit(settings.DATABASE_DIRECT_URL)
    with psycopg.connect(settings.DATABASE_DIRECT_URL, autocommit=True) as server:
        copied, dropped = (
            sql.SQL(text).format(sql.Identifier(name), sql.Identifier(TEMPLATE))
            for text in ("CREATE DATABASE {0} TEMPLATE {1}", "DROP DATABASE IF EXISTS {0} WITH (FORCE)")
        )
        server.execute(dropped)
        server.execute(copied)
        try:
            yield direct._replace(path=f"/{name}").geturl()
        finally:
            server.execute(dropped)


def fill(url: str) -> bool:
    """Restore what is kept of the template to an empty database of any server of ours; return whether anything is kept.

    Migrating one that writes durably takes ten times as long. `django_db_setup` keeps the template.
    """
    kept = KEPT / f"{fingerprint()}.dump"
    return kept.is_file() and _restore(url, kept)


def fingerprint() -> str:
    """Return a hash of all that a migrated database depends on: every migration, and the locked packages."""
    digest = hashlib.sha256()
    for path in [*migration_files(), ROOT / "requirements" / "dev.txt"]:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def migration_files() -> list[Path]:
    """Return the migrations of all installed apps, and the triggers that they load, in order."""
    folders = [Path(app.path) for app in apps.get_app_configs()]
    kinds = ("migrations/*.py", "triggers.sql", "models/triggers.sql")
    return sorted(path for folder in folders for kind in kinds for path in folder.glob(kind))


@contextmanager
def _directly() -> Iterator[None]:
    """Reach the server past a pooler, which would keep sessions in the template."""
    direct = conninfo_to_dict(settings.DATABASE_DIRECT_URL)
    names = {"HOST": "host", "PORT": "port", "USER": "user", "PASSWORD": "password"}
    kept = {name: connection.settings_dict[name] for name in names}
    given = {name: direct.get(key, "") for name, key in names.items()}
    connection.close()
    connection.settings_dict |= given
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict |= kept


def _ensure_template(server: CursorWrapper) -> None:
    server.execute(_COMMENT, [TEMPLATE])
    made_from = server.fetchone()
    if made_from == (wanted := fingerprint(),):
        return
    kept = KEPT / f"{wanted}.dump"
    if not kept.is_file():
        _migrate_template()
        _keep(kept)
    # Restored in the first run too: PostgreSQL writes constraints down in other words then, and runs shall not differ.
    if kept.is_file() and not _is_restored(server, kept):
        _migrate_template()
    comment = sql.SQL("COMMENT ON DATABASE {} IS {}")
    server.execute(comment.format(sql.Identifier(TEMPLATE), sql.Literal(wanted)).as_string())


def _migrate_template() -> None:
    test: dict[str, Any] = connection.settings_dict["TEST"]
    kept, test["NAME"] = test["NAME"], TEMPLATE
    try:
        connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    finally:
        test["NAME"] = kept
        # A database that somebody is connected to cannot be copied.
        connection.close()


def _is_restored(server: CursorWrapper, kept: Path) -> bool:
    """Whether the template could be made of a dump."""
    _run(server, "DROP DATABASE IF EXISTS {} WITH (FORCE)", TEMPLATE)
    _run(server, "CREATE DATABASE {}", TEMPLATE)
    return _restore(urlsplit(settings.DATABASE_DIRECT_URL)._replace(path=f"/{TEMPLATE}").geturl(), kept)


def _restore(url: str, kept: Path) -> bool:
    """Whether a dump could be read into an empty database; else it is as empty as before."""
    with psycopg.connect(url, autocommit=True) as database:
        # A migration gives it to the role, which no dump of a database has.
        database.execute(LIMIT_PAUSES)
        name = database.info.dbname
    return _tool("pg_restore", "--no-owner", "--single-transaction", "--dbname", name, str(kept), url=url)


def _keep(kept: Path) -> None:
    """Dump the template in place of those before; without tools of the server's version nothing is kept."""
    KEPT.mkdir(parents=True, exist_ok=True)
    draft = kept.with_suffix(f".{os.getpid()}")
    if _tool("pg_dump", "--format", "custom", "--no-owner", "--file", str(draft), TEMPLATE):
        for old in KEPT.glob("*.dump"):
            old.unlink(missing_ok=True)
        draft.replace(kept)
    else:
        draft.unlink(missing_ok=True)


def _tool(name: str, *arguments: str, url: str = "") -> bool:
    """Whether a program of the embedded server's ran without an error against the tests' server, or that of a URL."""
    given = conninfo_to_dict(url or settings.DATABASE_DIRECT_URL)
    names = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "password": "PGPASSWORD"}
    environment = os.environ | {names[key]: str(value) for key, value in given.items() if key in names}
    program = find_binaries(Layout(KEPT).account).postgres / name
    return subprocess.run([program, *arguments], env=environment, capture_output=True, check=False).returncode == 0


def _run(server: CursorWrapper, statement: str, *names: str) -> None:
    server.execute(sql.SQL(statement).format(*map(sql.Identifier, names)).as_string())


def _use(name: str) -> None:
    connection.close()
    connection.settings_dict["NAME"] = name
