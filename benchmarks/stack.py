"""The engines, rows and servers that benchmarks run against. Durable commits, real HTTP, everything on loopback."""

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import cast

from cryptography.fernet import Fernet

from gateway.core.embedded import Engines, EngineUrls
from gateway.processes.stack import stream_arguments, web_arguments

ROOT = Path(__file__).parent.parent
HOME = ROOT / "var" / "bench"
WORKERS = 2


@contextmanager
def engines(**extra: str) -> Iterator[EngineUrls]:
    """Fresh durable engines with the product's tables, and this process's Django bound to them."""
    shutil.rmtree(HOME, ignore_errors=True)
    with Engines(HOME, durable=True) as urls:
        os.environ |= {
            "DATABASE_URL": urls.database_url,
            "REDIS_URL": urls.redis_url,
            "FLORIN_ENV": "development",
            "ENCRYPTION_KEYS": Fernet.generate_key().decode(),
            "CHAIN_NETWORK": "local",
            "CHAIN_BASE_RPC_URLS": "http://127.0.0.1:9",
            "CHAIN_POLYGON_RPC_URLS": "http://127.0.0.1:9",
            "DJANGO_SETTINGS_MODULE": "gateway.settings",
            **extra,
        }
        subprocess.run([sys.executable, "manage.py", "migrate", "-v", "0"], cwd=ROOT, check=True)
        import django

        django.setup()
        yield urls


def seed_merchant() -> tuple[int, str]:
    """A merchant with wallets on two healthy chains; return its id and live key."""
    from django.utils import timezone

    from tests.factories import make_key, make_merchant, make_wallet
    from wallets.models import ChainCursor

    merchant = make_merchant()
    for chain in ("base", "polygon"):
        make_wallet(merchant, chain)
        ahead = timezone.now() + timedelta(days=1)
        ChainCursor.objects.update_or_create(
            chain=chain, defaults={"height": 100, "head": 100, "head_at": ahead, "head_time": ahead, "factory_ok": True}
        )
    _, key = make_key(merchant)
    return merchant.pk, key


@contextmanager
def folded_totals() -> Iterator[None]:
    """Fold kept totals as often as beat has a worker do it."""
    from gateway.core.daily_totals import fold_all
    from gateway.processes.timetable import TIMETABLE

    every = cast("timedelta", TIMETABLE["fold totals"]["schedule"]).total_seconds()
    ended = threading.Event()

    def fold() -> None:
        while not ended.wait(every):
            fold_all()

    folder = threading.Thread(target=fold)
    folder.start()
    try:
        yield
    finally:
        ended.set()
        folder.join()


def free_port() -> int:
    """A loopback port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def server(
    target: str,
    *,
    settings: str = "gateway.settings",
    port: int | None = None,
    more: Mapping[str, str] | None = None,
    folder: Path = ROOT,
) -> Iterator[int]:
    """Run a web application as production does; yield its port. `more` is added to its environment, `folder` is its source tree."""
    port = port or free_port()
    arguments = web_arguments(port, application=target) if folder == ROOT else _arguments_of(folder, port, target)
    command = [sys.executable, *arguments]
    extra = {"DJANGO_SETTINGS_MODULE": settings} | dict(more or {})
    with _running([*command, "--log-level", "warning"], extra, folder) as process:
        _wait_for(port, process)
        yield port


def _arguments_of(folder: Path, port: int, target: str) -> list[str]:
    """Return how another release, by its source tree, starts its web process."""
    asked = (
        "import json; from gateway.processes.stack import web_arguments;"
        f" print(json.dumps(web_arguments({port}, application={target!r})))"
    )
    done = subprocess.run([sys.executable, "-c", asked], cwd=folder, capture_output=True, text=True, check=True)
    return cast("list[str]", json.loads(done.stdout))


@contextmanager
def _serving(command: list[str], target: str, extra: dict[str, str]) -> Iterator[int]:
    port = free_port()
    where = ["--host", "127.0.0.1", "--port", str(port)]
    with _running([*command, *where, target], extra) as process:
        _wait_for(port, process)
        yield port


@contextmanager
def _running(command: list[str], extra: dict[str, str], folder: Path = ROOT) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(command, cwd=folder, env=os.environ | extra)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(20)


@contextmanager
def stream_server(port: int, **extra: str) -> Iterator[int]:
    """Run the stream server as production does; yield its process id."""
    command = [sys.executable, *stream_arguments(port)]
    with _running(command, extra) as process:
        _wait_for(port, process)
        yield process.pid


@contextmanager
def receiver() -> Iterator[int]:
    """Run a server that answers each POST, and notes its time (`benchmarks.receiver`); yield its port."""
    port = free_port()
    command = [sys.executable, "-m", "benchmarks.receiver", str(port)]
    with _running(command, {}) as process:
        _wait_for(port, process)
        yield port


@contextmanager
def uvicorn(target: str) -> Iterator[int]:
    """Run an ASGI control under uvicorn with uvloop and httptools, the fastest way measured for it."""
    command = [sys.executable, "-m", "uvicorn", "--workers", str(WORKERS), "--log-level", "warning"]
    command += ["--loop", "uvloop", "--http", "httptools", "--no-access-log"]
    with _serving(command, target, {}) as port:
        yield port


def _wait_for(port: int, process: subprocess.Popen[bytes], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError("the server ended while starting")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError(f"nothing listens on port {port}")
