"""What a killed engine or supervisor left behind is cleared by the next start."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from gateway.core.embedded import Engines, EngineUrls, running_urls
from tests.freezing import freeze
from tests.gateway.core.embedded.servers import answers, postmaster, rows, start_apart


def running(home: Path) -> EngineUrls:
    urls = running_urls(home)
    assert urls is not None
    return urls


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
    freeze(process.pid)
    os.kill(server, signal.SIGKILL)
    process.kill()
    process.wait()
    with Engines(home) as urls:
        assert rows(urls, "SELECT n FROM kept") == [(7,)]


def test_a_recycled_pid_in_a_pid_file_neither_blocks_nor_is_signalled(home: Path) -> None:
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
