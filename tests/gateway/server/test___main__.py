"""`python -m gateway.server` imports the application once, before it forks its workers."""

import http.client
import multiprocessing
import os
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path

from gateway.server.__main__ import counters_folder
from tests.contract.servers import free_port
from tests.waiting import wait_until

_APPLICATION = """
import os

imported_by = os.getpid()

class Application:
    async def __rsgi__(self, scope, exchange):
        folder = os.environ["PROMETHEUS_MULTIPROC_DIR"]
        exchange.response_str(200, [], f"{imported_by} {os.getpid()} {folder}")

application = Application()
"""


def test_workers_share_what_was_imported_before_they_were_forked(tmp_path):
    (tmp_path / "answering.py").write_text(_APPLICATION)
    port = free_port()
    where = ("--interface", "rsgi", "--port", str(port), "--workers", "1")
    server = subprocess.Popen(
        [sys.executable, "-m", "gateway.server", "answering:application", *where],
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
    )

    answers: list[str] = []

    def has_answered() -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        with closing(connection), suppress(OSError):
            connection.request("GET", "/")
            answers.append(connection.getresponse().read().decode())
        return bool(answers)

    try:
        wait_until(has_answered)
    finally:
        server.terminate()
        server.wait(20)
    *pids, folder = answers[0].split()
    imported_by, answered_by = map(int, pids)
    assert answered_by != server.pid
    # Where Python cannot fork safely, granian has each worker import the application.
    forks = multiprocessing.get_start_method() == "fork"
    assert imported_by == (server.pid if forks else answered_by)
    assert "florin-counters-" in folder
    assert not Path(folder).exists()


def test_a_named_folder_is_emptied_of_counters_and_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
    (tmp_path / "counter_1.db").touch()
    (tmp_path / "other").touch()
    with counters_folder():
        assert [path.name for path in tmp_path.iterdir()] == ["other"]
    assert (tmp_path / "other").exists()


def test_without_a_name_there_is_a_folder_while_the_server_runs(monkeypatch):
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", "")
    with counters_folder():
        folder = Path(os.environ["PROMETHEUS_MULTIPROC_DIR"])
        assert folder.is_dir()
    assert not folder.exists()
