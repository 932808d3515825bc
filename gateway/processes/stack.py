"""Runs everything Florin needs on one machine, as child processes of one command."""

import base64
import http.client
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType, TracebackType
from typing import Self

from gateway.core.embedded import Engines
from gateway.core.embedded.layout import write_private
from gateway.core.embedded.processes import ChildCommand, Keeper
from gateway.core.open_files import allow_most_files

HOST = "127.0.0.1"
ROOT = Path(__file__).resolve().parents[2]
ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
WEB_SECONDS = 60.0
CHAIN_SECONDS = 120.0
MOST_CONNECTIONS = 10_000
# Counted from the web service's port; a demo shop takes the one between.
STREAM_PORT = 2
STEP_SECONDS = 0.05
# The API counts requests by client, and people want to send some as well.
ASK_API_SECONDS = 0.5
LOG_TAIL = 2_000

MANAGE = (sys.executable, str(ROOT / "manage.py"))
CELERY = (sys.executable, "-m", "celery", "--app")


class StackError(Exception):
    """Something did not start; the message is for the person at the terminal."""


class Stack:
    """Engines, database schema, then the services, in that order.

    `var` is the folder of all data, `environment` is added to the children's environment. Leaving the context stops what
    was started, newest first. `say` prints a line of progress.
    """

    def __init__(
        self, *, var: Path, port: int, say: Callable[[str], None], environment: Mapping[str, str] | None = None
    ) -> None:
        self.var = var.resolve()
        self.port = port
        self.say = say
        self.base_url = f"http://{HOST}:{port}"
        self.stream_port = port + STREAM_PORT
        self.environment = dict(os.environ) | {"FLORIN_VAR": str(self.var), "PYTHONUNBUFFERED": "1"}
        if "BASE_URL" not in self.environment:
            self.environment["BASE_URL"] = self.base_url
            self._serve_streams_beside_pages()
        self.environment.update(environment or {})
        self._exits = ExitStack()

    def _serve_streams_beside_pages(self) -> None:
        """Set the streams' public address: without a proxy they have a port of their own, which pages must know."""
        self.stream_port = free_port(self.stream_port)
        self.environment.setdefault("STREAM_URL", f"http://{HOST}:{self.stream_port}")

    def __enter__(self) -> Self:
        require_free_port(self.port)
        for name in ("log", "run", "static"):
            (self.var / name).mkdir(parents=True, exist_ok=True)
        for name, value in kept_secrets(self.var / "secrets.json").items():
            self.environment.setdefault(name, value)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._exits.close()

    def start_engines(self) -> bool:
        """Start PostgreSQL and Valkey, unless the environment names servers of both; return whether they were started.

        Raises `EnginesBusyError` or `EnginesError`.
        """
        if {"DATABASE_URL", "REDIS_URL"} <= self.environment.keys():
            self.say("Using the PostgreSQL and Redis of DATABASE_URL and REDIS_URL.")
            return False
        self.say("Starting PostgreSQL and Valkey.")
        urls = self._exits.enter_context(Engines(self.var / "engines"))
        self.environment.setdefault("DATABASE_URL", urls.database_url)
        self.environment.setdefault("REDIS_URL", urls.redis_url)
        return True

    def run(self, name: str, argv: Sequence[str], *, stdin: str = "") -> str:
        """Run a program to its end; return its output.

        Raises `StackError` with the end of its error output.
        """
        done = subprocess.run(  # noqa: S603 - no shell, our own arguments
            argv, input=stdin, capture_output=True, text=True, cwd=ROOT, env=self.environment, check=False
        )
        if done.returncode:
            message = f"{name} failed:\n{done.stderr[-LOG_TAIL:]}"
            raise StackError(message)
        return done.stdout

    def keep(self, commands: Sequence[ChildCommand]) -> Keeper:
        """Start programs that run until the stack ends, and restart them when they end."""
        keeper = Keeper(commands, told=self.say)
        keeper.start()
        self._exits.callback(keeper.stop)
        return keeper

    def command(self, name: str, *argv: str | Path) -> ChildCommand:
        """Return a program of this stack, with its output in the log of its name."""
        return ChildCommand(name=name, argv=argv, log=self.log(name), cwd=ROOT, env=self.environment)

    def log(self, name: str) -> Path:
        """Return the path of the named program's log."""
        return self.var / "log" / f"{name}.log"

    def start_services(self, *more: ChildCommand) -> None:
        """Start web, streams, the worker (with chain watchers and webhook sender), beat, and more.

        Returns once pages and their streams answer. Worker and beat start last: all at once they would compete for the
        processors. Raises `StackError` when nothing answers after a minute.
        """
        self.say(f"Starting the services; their logs are in {self.var / 'log'}.")
        self.keep([self._web(), self._streams(), *more])
        self._await_web()
        self.keep(self._celery())

    def _celery(self) -> list[ChildCommand]:
        # At INFO, each tick of each schedule writes lines.
        level = ("--loglevel", "WARNING")
        alone = ("--without-gossip", "--without-mingle", "--concurrency", "2")
        schedule = ("--schedule", str(self.var / "run" / "beat"), "--pidfile=")
        worker = self.command("worker", *CELERY, "gateway.celery", "worker", *alone, *level)
        return [
            # Told to end while the broker ends with it, Celery may wait for ever for its pool.
            replace(worker, orphan_signal=signal.SIGKILL),
            self.command("beat", *CELERY, "gateway.beat", "beat", *schedule, *level),
        ]

    def _web(self) -> ChildCommand:
        return self.command("web", sys.executable, *web_arguments(self.port))

    def _streams(self) -> ChildCommand:
        arguments = stream_arguments(self.stream_port)
        return self.command("streams", sys.executable, *arguments)

    def _await_web(self) -> None:
        if not comes_true(self._pages_are_served, WEB_SECONDS):
            log = self.log("web")
            tail = log.read_text(errors="replace")[-LOG_TAIL:]
            message = f"The web service does not answer; the end of {log}:\n{tail}"
            raise StackError(message)

    def _pages_are_served(self) -> bool:
        return not port_is_free(self.stream_port) and self.is_ready()

    def is_ready(self) -> bool:
        """Return whether the web service answers and reaches its database.

        Asks the server directly, where no redirect to https interferes.
        """
        connection = http.client.HTTPConnection(HOST, self.port, timeout=5)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == http.client.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def await_chains(self, names: Collection[str]) -> bool:
        """Wait until payments on these chains can be seen; return whether they can."""

        def all_are_read() -> bool:
            statuses = self.chain_statuses() or {}
            return all(statuses.get(name) == "ok" for name in names)

        return comes_true(all_are_read, CHAIN_SECONDS, pause=ASK_API_SECONDS)

    def chain_statuses(self) -> dict[str, str] | None:
        """Return the chains' API statuses by name; None while the API does not answer."""
        connection = http.client.HTTPConnection(HOST, self.port, timeout=5)
        try:
            connection.request("GET", "/api/v1/chains")
            answer = json.loads(connection.getresponse().read())
            return {chain["chain"]: chain["status"] for chain in answer["data"]}
        except (OSError, http.client.HTTPException, ValueError, KeyError):
            return None
        finally:
            connection.close()


def web_arguments(port: int, *, workers: int = 2, application: str = "gateway.rsgi:application") -> list[str]:
    """Return Python's arguments to serve the API and pages at a loopback port."""
    # While the server detects a connection's HTTP version, it enforces no deadline.
    granian = ("-m", "gateway.server", application)
    protocol = ("--interface", "rsgi", "--http", "1", "--no-ws")
    where = ("--host", HOST, "--port", str(port))
    # Idle connections count. With the server's own limit, a few hundred of them would block all clients.
    size = ("--workers", str(workers), "--backpressure", str(_most_connections()))
    late = ("--http1-header-read-timeout", "10000", "--loop", "uvloop")
    # Headers that are not complete yet are counted by nobody, and would hold 400 KB for each connection.
    headers = ("--http1-buffer-size", "32768")
    # A worker that is told to stop while it starts misses the signal.
    end = ("--workers-kill-timeout", "10")
    return [*granian, *protocol, *where, *size, *late, *headers, *end]


def _most_connections() -> int:
    """Return how many connections a process may hold; each is an open file."""
    most = allow_most_files()
    return MOST_CONNECTIONS if most is None else min(MOST_CONNECTIONS, most - 200)


def stream_arguments(port: int) -> list[str]:
    """Return Python's arguments to serve streams at a loopback port."""
    granian = ("-m", "granian", "--interface", "asgi", "--no-ws")
    # As web: a detected version has no deadline for headers, and HTTP/2 many streams in one connection.
    late = ("--http", "1", "--http1-header-read-timeout", "10000", "--http1-buffer-size", "32768")
    where = ("--host", HOST, "--port", str(port))
    # One loop holds thousands. At the server's own limit, further pages would wait for ever; ours refuses them.
    size = ("--workers", "1", "--backpressure", "100000")
    # Streams do not end by themselves, and clients reconnect.
    end = ("--workers-kill-timeout", "1")
    return [*granian, *late, *where, *size, *end, "gateway.asgi:application"]


def comes_true(condition: Callable[[], bool], seconds: float, *, pause: float = STEP_SECONDS) -> bool:
    """Return whether the condition became true within `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
    return True


def kept_secrets(path: Path) -> dict[str, str]:
    """Return the installation's own secrets, created once and kept in a private file.

    Losing the file means that stored webhook secrets cannot be read any more.
    """
    if not path.exists():
        fernet_key = base64.urlsafe_b64encode(secrets.token_bytes(32)).decode()
        made = {"SECRET_KEY": secrets.token_urlsafe(50), "ENCRYPTION_KEYS": fernet_key}
        write_private(path, json.dumps(made))
    kept: dict[str, str] = json.loads(path.read_text())
    return kept


def require_free_port(port: int) -> None:
    """Raise `StackError` if the port is in use."""
    if not port_is_free(port):
        message = f"Port {port} is taken; choose another one with --port."
        raise StackError(message)


def free_port(wanted: int) -> int:
    """Return the wanted port, or another free one if it is taken."""
    if port_is_free(wanted):
        return wanted
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def port_is_free(port: int) -> bool:
    """Return whether a server could listen on this loopback port now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


@contextmanager
def until_signalled() -> Iterator[None]:
    """Leave the block at the first Ctrl-C, SIGTERM or SIGHUP, and ignore further ones.

    The block is left by KeyboardInterrupt, which ends here; later signals are ignored, because stopping must not be
    interrupted.
    """
    previous = {signum: signal.signal(signum, _leave) for signum in ENDING_SIGNALS}
    try:
        yield
    except KeyboardInterrupt:
        pass
    finally:
        for signum, handler in previous.items():
            signal.signal(signum, handler)


def _leave(signum: int, frame: FrameType | None) -> None:
    del signum, frame
    for ending in ENDING_SIGNALS:
        # Not SIG_IGN: a child that is being started would inherit it and never hear a stop signal.
        signal.signal(ending, _pass_over)
    raise KeyboardInterrupt


def _pass_over(signum: int, frame: FrameType | None) -> None:
    """Ignore the signal."""
