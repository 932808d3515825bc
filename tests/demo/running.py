"""`manage.py demo` and `manage.py up` as a person runs them: a process with output."""

import http.client
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from gateway.processes.stack import port_is_free
from tests.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 300.0
STOP_SECONDS = 120.0
# What this test session set for itself must not reach the command under test.
OURS = (
    "DATABASE_URL",
    "DATABASE_DIRECT_URL",
    "DATABASE_PREPARE",
    "REDIS_URL",
    "FLORIN_KEY_PREFIX",
    "FLORIN_TEST_DB_SUFFIX",
)


def two_free_ports() -> int:
    """A free port whose next one is free too, below those the system hands out."""
    candidates = (random.randrange(20_000, 30_000) for _ in range(1_000))
    return next(p for p in candidates if port_is_free(p) and port_is_free(p + 1))


def environment_for(var: Path) -> dict[str, str]:
    """What a person's shell has, with `var` as the folder of everything kept."""
    ours = {k: v for k, v in os.environ.items() if k not in OURS}
    return ours | {"FLORIN_VAR": str(var), "FLORIN_ENV": "development"}


class Running:
    """A started command, its folder `var`, and what it printed so far."""

    def __init__(self, var: Path, command: str, *options: str, **environment: str) -> None:
        self.var = var
        self.port = two_free_ports()
        self._output = var.parent / f"{command}-{self.port}.output"
        manage = [sys.executable, "manage.py", command, "--port", str(self.port)]
        with self._output.open("w") as output:
            self.process = subprocess.Popen(
                [*manage, *options],
                cwd=ROOT,
                env=environment_for(var) | environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )

    @property
    def output(self) -> str:
        return self._output.read_text()

    def await_line(self, text: str) -> None:
        """Return once `text` was printed; fail when the command ends before."""

        def printed() -> bool:
            assert text in self.output or self.process.poll() is None, self.output
            return text in self.output

        wait_until(printed, seconds=START_SECONDS)

    def end(self, signum: signal.Signals = signal.SIGINT) -> int:
        """Send the signal and return the exit status."""
        self.process.send_signal(signum)
        return self.process.wait(STOP_SECONDS)


@contextmanager
def running(var: Path, command: str, *options: str, **environment: str) -> Iterator[Running]:
    """A command that is stopped at the end, if the test has not done it; `environment` is added to the usual one."""
    started = Running(var, command, *options, **environment)
    try:
        yield started
    finally:
        if started.process.poll() is None:
            started.end(signal.SIGTERM)


def demo_pay(demo: Running, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `manage.py demo_pay` beside a demo, with `environment` on top of the usual one."""
    return manage(demo, "demo_pay", *arguments, **environment)


def manage(demo: Running, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command of `manage.py` beside a demo, with `environment` on top of the usual one."""
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=environment_for(demo.var) | environment,
        capture_output=True,
        text=True,
        check=False,
    )


@contextmanager
def var_folder() -> Iterator[Path]:
    """A folder for everything kept, which the engines' own user can reach."""
    parent = Path(tempfile.mkdtemp(prefix="florin-demo-"))
    parent.chmod(0o755)
    try:
        yield parent / "var"
    finally:
        shutil.rmtree(parent)


def ask(base: str, method: str, path: str, *, key: str = "", body: Any = None) -> tuple[int, Any]:
    """One JSON request to the API or the shop; a body that is no JSON comes as text."""
    connection = http.client.HTTPConnection(urlsplit(base).netloc, timeout=30)
    headers = {"Content-Type": "application/json"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    data = None if body is None else json.dumps(body)
    try:
        connection.request(method, path, data, headers)
        response = connection.getresponse()
        text = response.read().decode()
    finally:
        connection.close()
    try:
        return response.status, json.loads(text)
    except ValueError:
        return response.status, text
