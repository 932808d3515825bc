"""What each process of an installation holds in memory, after work of each kind: its proportional share (PSS), in MB.

`manage.py up` runs all of them, with engines of its own. Memory that processes share is divided among them, so the sum is
what the machine has to have.
"""

import subprocess
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import cycle
from typing import Final

import psutil

from benchmarks import stack
from benchmarks.creation import creation_requests
from benchmarks.load import http_request, run_load
from benchmarks.report import Report, Series
from gateway.processes.stack import comes_true

_MB: Final = 1024 * 1024
# Made by script/bench.
_PYTHON: Final = stack.ROOT / "var/run/bin/python"
_CLIENTS: Final = 8
_START_SECONDS: Final = 90
# The text of a command line that names a process, and what its children are called.
_NAMES: Final = {
    "gateway.rsgi": ("web, main", "web, each worker"),
    "gateway.asgi": ("streams, main", "streams, worker"),
    "run_watchers": ("chain watchers", ""),
    "run_sender": ("webhook sender", ""),
    "gateway.celery worker": ("celery, main", "celery, each of its pool"),
    " beat": ("beat", ""),
    "manage.py up": ("manage.py up", ""),
    "postgres": ("PostgreSQL, each process", "PostgreSQL, each process"),
    "valkey": ("Valkey", ""),
}


def run(*, rounds: int, seconds: float) -> list[Report]:
    """Measure all processes, started anew `rounds` times, each time after `seconds` of creating and of viewing."""
    held: dict[str, Series] = {}
    whole = Series("all together", "MB")
    with stack.engines():
        _, key = stack.seed_merchant()
        for number in range(rounds):
            with services() as port:
                creating = creation_requests(key, f"memory-{number}")
                run_load(port, creating, clients=_CLIENTS, seconds=seconds)
                run_load(port, _views(key), clients=_CLIENTS, seconds=seconds)
                found = _held()
            for name, sizes in found.items():
                series = held.setdefault(name, Series(name, "MB"))
                series.rounds.append(sum(sizes) / len(sizes))
            whole.rounds.append(sum(map(sum, found.values())))
    ordered = sorted(held.values(), key=lambda series: -series.median)
    return [Report("memory of each process", [whole, *ordered], [])]


def _views(key: str) -> Iterator[bytes]:
    paths = ("/", "/docs/", "/account/login/", "/api/v1/checkouts?limit=20")
    return cycle(http_request("GET", path, key=key) for path in paths)


@contextmanager
def services() -> Iterator[int]:
    """Run all processes of an installation over the engines that run; yield the port of its web service."""
    port = stack.free_port()
    command = [str(_PYTHON), "manage.py", "up", "--port", str(port)]
    running = subprocess.Popen(command, cwd=stack.ROOT, stdout=subprocess.PIPE, text=True)
    expected = {name for names in _NAMES.values() for name in names if name}
    try:
        if not any("answers at" in line for line in running.stdout or ()):
            raise RuntimeError("manage.py up ended while starting")
        # The worker starts its watchers and sender after its pool.
        if not comes_true(lambda: _held().keys() >= expected, _START_SECONDS, pause=1):
            raise RuntimeError(f"not started: {expected - _held().keys()}")
        yield port
    finally:
        running.terminate()
        running.wait(30)


def _held() -> dict[str, list[float]]:
    """Return the memory of the installation's processes, in MB, by name."""
    found = defaultdict(list)
    for name, one in named():
        with suppress(psutil.NoSuchProcess):
            found[name].append(one.memory_full_info().pss / _MB)
    return found


def named() -> Iterator[tuple[str, psutil.Process]]:
    """Yield each process that this one and its children started, with what it is."""
    for one in psutil.Process().children(recursive=True):
        try:
            name = _name_of(one)
        except psutil.NoSuchProcess:
            continue
        yield name, one


def _name_of(process: psutil.Process) -> str:
    line = " ".join(process.cmdline())
    parent = " ".join(process.parent().cmdline())
    for text, (name, of_children) in _NAMES.items():
        if text in line:
            return of_children if text in parent and of_children else name
    return "others"
