"""Pytest plugin: PostgreSQL and Valkey for the tests, unless URLs name others.

It is loaded by `-p tests.engines` (run `python -m pytest`), because pytest-django
reads the settings, and so `DATABASE_URL`, before any conftest.

Sessions that run at the same time share one set of engines under var/test-engines,
run by a process that ends with the last of them. Each gets database names and Valkey
keys of its own. Tests that stop, kill or flush an engine start their own `Engines`.
"""

import contextlib
import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import IO

import psutil
import pytest

from gateway.core.embedded import EnginesError, EngineUrls, running_urls
from gateway.core.embedded.layout import Layout
from tests import pgbouncer
from tests.waiting import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / "var" / "test-engines"
START_SECONDS = PATIENCE_SECONDS

_held: list[IO[str]] = []
_started: list[psutil.Process] = []


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests() -> Generator[None, None, None]:
    """Name the engines before pytest-django's hook of this name runs."""
    # A worker of pytest-xdist inherits what the controller exported.
    if worker := os.environ.get("PYTEST_XDIST_WORKER"):
        os.environ["FLORIN_KEY_PREFIX"] += f"-{worker}"
    else:
        _export_engines()
    return (yield)


def pytest_unconfigure() -> None:
    """Let the engines go; they end when no other session holds them."""
    pgbouncer.stop()
    if (timings := os.environ.get("FLORIN_TIMINGS_FILE")) and _started:
        # script/test adds them up: the engines end by themselves, so that nobody waits for them and learns it.
        with Path(timings).with_name("engines.seconds").open("a") as file:
            file.write(f"{_processor_seconds(_started.pop()):.1f}\n")
    while _held:
        _held.pop().close()


def _processor_seconds(process: psutil.Process) -> float:
    """What a process, those it began and those they waited for have used until now."""
    seconds = 0.0
    for one in [process, *process.children(recursive=True)]:
        with contextlib.suppress(psutil.Error):
            seconds += sum(one.cpu_times()[:4])
    return seconds


def _export_engines() -> None:
    # Unless said otherwise settings are those of production, which wants secrets and collected static files.
    os.environ.setdefault("FLORIN_ENV", "development")
    # As in the demo; a new installation charges none.
    os.environ.setdefault("CHARGE_FEES", "true")
    session = str(os.getpid())
    os.environ.setdefault("FLORIN_TEST_DB_SUFFIX", session)
    os.environ.setdefault("FLORIN_KEY_PREFIX", f"test{session}")
    if not ("DATABASE_URL" in os.environ and "REDIS_URL" in os.environ):
        urls = _shared_engines()
        os.environ.setdefault("DATABASE_URL", urls.database_url)
        os.environ.setdefault("REDIS_URL", urls.redis_url)
    if pgbouncer.is_asked_for():
        pgbouncer.start(os.environ, Layout(HOME).account)


def _shared_engines() -> EngineUrls:
    """The URLs of the shared engines, which live as long as this process at least."""
    HOME.mkdir(parents=True, exist_ok=True)
    sessions = HOME / "sessions.lock"
    _held.append(_open_locked(sessions, fcntl.LOCK_SH))
    with _locked(HOME / "start.lock"):
        return running_urls(HOME) or _start(sessions)


def _start(sessions: Path) -> EngineUrls:
    argv = [sys.executable, "-m", "gateway.core.embedded", str(HOME), "--scratch"]
    log_file = HOME / "supervisor.log"
    with log_file.open("w") as log:
        process = subprocess.Popen(
            [*argv, "--until-unused", str(sessions)],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        if urls := running_urls(HOME):
            _started.append(psutil.Process(process.pid))
            # It may outlive this session: Popen shall neither wait for it nor warn.
            process.returncode = 0
            return urls
        time.sleep(0.02)
    message = f"the test engines do not start: {log_file.read_text()}"
    raise EnginesError(message)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with _open_locked(path, fcntl.LOCK_EX):
        yield


def _open_locked(path: Path, kind: int) -> IO[str]:
    handle = path.open("a")
    fcntl.flock(handle, kind)
    return handle
