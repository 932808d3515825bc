"""PostgreSQL and Valkey under the supervisor, with real processes."""

import os
import shutil
import signal
import stat
from pathlib import Path

import psycopg
import pytest
import redis

from gateway.core.embedded import Engines, EnginesBusyError, EnginesError, running_urls
from gateway.core.embedded.engines import exists
from gateway.core.embedded.processes import command_line
from tests.gateway.core.embedded.servers import answers, rows, valkey
from tests.waiting import wait_until


def test_both_engines_answer_under_the_urls_that_start_returns(home: Path) -> None:
    with Engines(home) as urls:
        assert rows(urls, "SELECT current_user, current_database()") == [("florin", "florin")]
        assert rows(urls, "SHOW server_version_num")[0][0] >= "180000"  # type: ignore[operator]
        with valkey(urls) as client:
            assert client.ping()


def test_a_wrong_password_is_refused_by_both_engines(home: Path) -> None:
    with Engines(home) as urls:
        with pytest.raises(psycopg.OperationalError, match="password authentication"):
            psycopg.connect(urls.database_url.replace("florin:", "florin:x", 1))
        wrong = urls.redis_url.replace("unix://:", "unix://:x")
        with redis.Redis.from_url(wrong) as client, pytest.raises(redis.AuthenticationError):
            client.ping()


def test_no_engine_listens_on_a_network_port(home: Path) -> None:
    with Engines(home) as urls:
        assert rows(urls, "SHOW listen_addresses") == [("",)]
        with valkey(urls) as client:
            assert client.config_get("port") == {"port": "0"}


def test_passwords_are_in_private_files_and_in_no_command_line(home: Path) -> None:
    engines = Engines(home)
    with engines as urls:
        files = [home / n for n in ("state.json", "postgres.password", "valkey.password")]
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
        wait_until(lambda: engines.pids.get(name, killed) != killed)
        wait_until(lambda: answers(urls))
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
