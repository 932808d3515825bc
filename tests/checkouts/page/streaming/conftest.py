"""The stream server that most tests here share, and waiting until it has nothing left to ask the database."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection

from tests.checkouts.factories import make_chains_well
from tests.checkouts.page.streaming.servers import StreamServer, stream_server
from tests.ownvalkey import OwnValkey
from tests.waiting import wait_until


@pytest.fixture(scope="module")
def shared_server(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StreamServer]:
    """One process for the tests of a module."""
    with stream_server(tmp_path_factory.mktemp("streams")) as server:
        yield server


@pytest.fixture
def server(
    transactional_db: None, shared_server: StreamServer, request: pytest.FixtureRequest
) -> Iterator[StreamServer]:
    """The shared server, which by the end of the test shows no page: the tables are about to be emptied."""
    make_chains_well(request.getfixturevalue("settings"))
    wait_until(_is_listening)
    yield shared_server
    wait_until(_is_idle)


def _is_listening() -> bool:
    return bool(_count("query LIKE 'LISTEN%%'"))


def _is_idle() -> bool:
    return not _count("state <> 'idle'")


def _count(condition: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'streams' AND datname = current_database()"
            # A pooler may answer this question in a session that the server used before.
            " AND pid <> pg_backend_pid()"
            f" AND {condition}"
        )
        return int(cursor.fetchone()[0])


@pytest.fixture
def own_valkey() -> Iterator[OwnValkey]:
    """A Valkey that a test may stop."""
    # Not below a private folder: root's engines run as another user.
    home = Path(tempfile.mkdtemp(prefix="florin-valkey-"))
    home.chmod(0o755)
    valkey = OwnValkey(home)
    valkey.start()
    yield valkey
    valkey.stop()
    shutil.rmtree(home)
