"""PostgreSQL and Valkey under the supervisor, with real processes."""

import fcntl
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import redis

from gateway.core.embedded import (
    Engines,
    EnginesBusyError,
    EnginesError,
    EngineUrls,
    running_urls,
)
from gateway.core.embedded.leftovers import exists
from gateway.core.embedded.processes import command_line
from tests.tree import ROOT
from tests.waiting import wait_until


@pytest.fixture
def homes() -> Iterator[Path]:
    # Not tmp_path: its parents are private, and root's engines run as another user.
    folder = Path(tempfile.mkdtemp(prefix="florin-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def home(homes: Path) -> Path:
    return homes / "home"


def rows(urls: EngineUrls, sql: str) -> list[tuple[object, ...]]:
    with psycopg.connect(urls.database_url, autocommit=True) as connection:
        cursor = connection.execute(sql)
        return cursor.fetchall() if cursor.description else []


def valkey(urls: EngineUrls) -> redis.Redis:
    return redis.Redis.from_url(urls.redis_url)


def answers(urls: EngineUrls) -> bool:
    try:
        with valkey(urls) as client:
            return rows(urls, "SELECT 1") == [(1,)] and bool(client.ping())
    except (psycopg.OperationalError, redis.ConnectionError):
        return False


def start_apart(home: Path, *options: str) -> subprocess.Popen[bytes]:
    """A supervisor in a process of its own, with its engines answering."""
    argv = [sys.executable, "-m", "gateway.core.embedded", str(home), *options]
    process = subprocess.Popen(argv, cwd=ROOT)
    wait_until(lambda: running_urls(home) is not None, seconds=60)
    return process


def running(home: Path) -> EngineUrls:
    urls = running_urls(home)
    assert urls is not None
    return urls


def postmaster(home: Path) -> int:
    return int((home / "postgres" / "postmaster.pid").read_text().split()[0])


def test_both_engines_answer_under_the_urls_that_start_returns(home: Path) -> None:
    with Engines(home) as urls:
        assert rows(urls, "SELECT current_user, current_database()") == [
            ("florin", "florin")
        ]
        assert rows(urls, "SHOW server_version_num")[0][0] >= "180000"  # type: ignore[operator]
        with valkey(urls) as client:
            assert client.ping()


def test_a_wrong_password_is_refused_by_both_engines(home: Path) -> None:
    with Engines(home) as urls:
        with pytest.raises(psycopg.OperationalError, match="password authentication"):
            psycopg.connect(urls.database_url.replace("florin:", "florin:x", 1))
        wrong = urls.redis_url.replace("unix://:", "unix://:x")
        with (
            redis.Redis.from_url(wrong) as client,
            pytest.raises(redis.AuthenticationError),
        ):
            client.ping()


def test_no_engine_listens_on_a_network_port(home: Path) -> None:
    with Engines(home) as urls:
        assert rows(urls, "SHOW listen_addresses") == [("",)]
        with valkey(urls) as client:
            assert client.config_get("port") == {"port": "0"}


def test_passwords_are_in_private_files_and_in_no_command_line(home: Path) -> None:
    engines = Engines(home)
    with engines as urls:
        files = [
            home / n for n in ("state.json", "postgres.password", "valkey.password")
        ]
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
        passwords = [file.read_text() for file in files[1:]]
        shown = [repr(urls), *map(command_line, engines.pids.values())]
        assert not [p for p in passwords if any(p in text for text in shown)]


def test_a_second_start_says_busy_and_leaves_the_first_alone(home: Path) -> None:
    with Engines(home) as urls:
        with pytest.raises(EnginesBusyError):
            Engines(home).start()
        assert running_urls(home) == urls
        assert answers(urls)


def test_two_homes_run_side_by_side_and_share_nothing(homes: Path) -> None:
    with Engines(homes / "a") as first, Engines(homes / "b") as second:
        rows(first, "CREATE TABLE mine (n int)")
        assert rows(second, "SELECT to_regclass('mine')") == [(None,)]
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(first.database_url.replace("home/a", "home/b"), host="")
        with valkey(first) as one, valkey(second) as two:
            one.set("mine", 1)
            assert two.get("mine") is None


@pytest.mark.parametrize("name", ["postgres", "valkey"])
def test_a_killed_engine_is_started_again_with_its_data(home: Path, name: str) -> None:
    engines = Engines(home)
    with engines as urls:
        rows(urls, "CREATE TABLE kept AS SELECT 7 AS n")
        with valkey(urls) as client:
            client.set("kept", 7)
        killed = engines.pids[name]
        os.kill(killed, signal.SIGKILL)
        wait_until(lambda: engines.pids.get(name, killed) != killed, seconds=30)
        wait_until(lambda: answers(urls), seconds=30)
        assert rows(urls, "SELECT n FROM kept") == [(7,)]
        with valkey(urls) as client:
            assert client.get("kept") == b"7"


def test_stop_ends_both_engines_and_the_next_start_has_the_data(home: Path) -> None:
    engines = Engines(home)
    rows(engines.start(), "CREATE TABLE kept AS SELECT 7 AS n")
    pids = list(engines.pids.values())
    engines.stop()
    assert not any(map(exists, pids))
    assert running_urls(home) is None
    with engines as urls:
        assert rows(urls, "SELECT n FROM kept") == [(7,)]


def test_scratch_engines_begin_empty(home: Path) -> None:
    with Engines(home, durable=False) as urls:
        rows(urls, "CREATE TABLE gone (n int)")
        with valkey(urls) as client:
            client.set("gone", 1)
    with Engines(home, durable=False) as urls:
        assert rows(urls, "SELECT to_regclass('gone')") == [(None,)]
        with valkey(urls) as client:
            assert client.dbsize() == 0


@pytest.mark.faults
def test_after_kill_9_of_the_supervisor_the_next_start_recovers(home: Path) -> None:
    process = start_apart(home)
    rows(running(home), "CREATE TABLE kept AS SELECT 7 AS n")
    process.kill()
    process.wait()
    assert running_urls(home) is None
    with Engines(home) as urls:
        assert rows(urls, "SELECT n FROM kept") == [(7,)]


@pytest.mark.faults
def test_after_kill_9_of_everything_the_next_start_recovers(home: Path) -> None:
    process = start_apart(home)
    rows(running(home), "CREATE TABLE kept AS SELECT 7 AS n")
    server = postmaster(home)
    process.send_signal(signal.SIGSTOP)
    os.kill(server, signal.SIGKILL)
    process.kill()
    process.wait()
    with Engines(home) as urls:
        assert rows(urls, "SELECT n FROM kept") == [(7,)]


def test_a_recycled_pid_in_a_pid_file_neither_blocks_nor_is_signalled(
    home: Path,
) -> None:
    Engines(home).stop()
    with Engines(home) as urls:
        text = (home / "postgres" / "postmaster.pid").read_text()
    with subprocess.Popen(["sleep", "600"]) as bystander:
        stale = "\n".join([str(bystander.pid), *text.split("\n")[1:]])
        (home / "postgres" / "postmaster.pid").write_text(stale)
        (home / "run" / "valkey.pid").write_text(f"{bystander.pid}\n")
        with Engines(home) as urls:
            assert answers(urls)
        assert bystander.poll() is None
        bystander.kill()


def test_sockets_move_where_their_path_is_short_enough(homes: Path) -> None:
    engines = Engines(homes / ("deep" * 25))
    with engines as urls:
        assert answers(urls)
        run = engines.layout.run
        assert homes not in run.parents
        assert stat.S_IMODE(run.stat().st_mode) == 0o700
    shutil.rmtree(run)


def test_an_engine_that_cannot_start_is_reported_with_its_log(home: Path) -> None:
    with Engines(home):
        pass
    (home / "postgres" / "global" / "pg_control").unlink()
    engines = Engines(home)
    with pytest.raises(EnginesError, match="pg_control"):
        engines.start()
    assert engines.pids == {}
    assert running_urls(home) is None


def test_a_term_signal_stops_the_engines_and_exits_cleanly(home: Path) -> None:
    process = start_apart(home)
    server = postmaster(home)
    process.terminate()
    assert process.wait(30) == 0
    assert not exists(server)


def test_shared_engines_end_when_their_last_user_leaves(homes: Path) -> None:
    users = homes / "users"
    with users.open("w") as user:
        fcntl.flock(user, fcntl.LOCK_SH)
        process = start_apart(homes / "home", "--until-unused", str(users))
        assert process.poll() is None
    assert process.wait(30) == 0
