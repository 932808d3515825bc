"""Releases as an upgrade meets them: a source tree each, all on one database, with processes that are started and ended."""

import json
import os
import re
import signal
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import httpx
import pytest
from cryptography.fernet import Fernet

from gateway.processes.stack import HOST
from tests.contract.servers import free_port
from tests.nodes.empty import serve_empty_chains
from tests.tree import ROOT
from tests.waiting import PATIENCE_SECONDS, wait_until

OWNER, PASSWORD = "owner@shop.example", "correct horse battery staple"
WALLET = "0xa0Ee7A142d267C1f36714E4a8F75612F20a79720"


def export(version: str, folder: Path) -> Path:
    """Write a release's source tree into a folder, from the repository's own history, and return it."""
    known = dict(
        line.split() for line in (ROOT / "deploy" / "releases.txt").read_text().splitlines() if not line.startswith("#")
    )
    done = subprocess.run(["git", "archive", known[version]], cwd=ROOT, capture_output=True, check=False)
    if done.returncode:
        problem = f"The code of {version} is not in this copy's history: {done.stderr.decode().strip()}"
        if os.environ.get("CI") == "true":
            pytest.fail(f"{problem}; fetch all of it")
        pytest.skip(problem)
    with tarfile.open(fileobj=BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder


@dataclass(frozen=True)
class Shop:
    """A merchant: its keys, and the secret of its webhooks."""

    test_key: str
    webhook_secret: str


class Process:
    """A process of a release, in a session of its own."""

    def __init__(self, argv: list[str], folder: Path, env: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            argv, cwd=folder, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )

    def end(self, with_signal: signal.Signals = signal.SIGTERM) -> None:
        """End it and its children as systemd does, and return once it has ended."""
        os.killpg(self._process.pid, with_signal)
        self._process.wait(PATIENCE_SECONDS)


class Release:
    """A source tree, run with this Python and these packages on a database."""

    def __init__(self, folder: Path, database_url: str, **settings: str) -> None:
        self.folder = folder
        # Coverage would look for the old release's files in today's tree.
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
        self.environment = inherited | {
            "DATABASE_URL": database_url,
            "DATABASE_DIRECT_URL": database_url,
            "FLORIN_ENV": "development",
            "TRUSTED_PROXIES": HOST,
            "WEBHOOK_ALLOW_LOOPBACK": "true",
            **settings,
        }

    def manage(self, *arguments: str, stdin: str = "", **settings: str) -> str:
        """Run manage.py, with settings of its own; return its output."""
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=self.folder,
            env=self.environment | settings,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-2_000:]
        return done.stdout

    def shell(self, program: str) -> str:
        """Run a program inside the release; return its output."""
        return self.manage("shell", "--no-imports", "--command", program)

    def start(self, *argv: str, **settings: str) -> Process:
        """Start one of its processes."""
        env = self.environment | settings
        return Process([sys.executable, *argv], self.folder, env)

    def start_web(self, port: int, **settings: str) -> Process:
        """Start a web process as the release itself does, and return at once."""
        asked = (
            "import json; from gateway.processes.stack import web_arguments;"
            f" print(json.dumps(web_arguments({port}, workers=1)))"
        )
        told = subprocess.run(
            [sys.executable, "-c", asked],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return self.start(*json.loads(told.stdout), **settings)

    @contextmanager
    def serving(self) -> Iterator[httpx.Client]:
        """Run a web process until the block ends, and yield a client of it."""
        port = free_port()
        process = self.start_web(port)
        try:
            wait_until(lambda: answers(port, "/readyz"))
            url = f"http://{HOST}:{port}"
            with httpx.Client(base_url=url, timeout=PATIENCE_SECONDS) as client:
                yield client
        finally:
            process.end()

    def open_shop(self, webhook_url: str) -> Shop:
        """Create a merchant who takes money on Base and on Ethereum."""
        wallets = [f"--wallet={chain}={WALLET}" for chain in ("base", "ethereum")]
        hook = f"--webhook-url={webhook_url}"
        asked = ("create_merchant", "Shop", OWNER, *wallets, hook)
        with serve_empty_chains() as nodes:
            named = {f"CHAIN_{name}": url for name, url in nodes.items()}
            told = self.manage(*asked, stdin=f"{PASSWORD}\n", **named)
        [test_key] = re.findall(r"sk_test_\S+", told)
        [secret] = re.findall(r"whsec_\S+", told)
        return Shop(test_key, secret)


def answers(port: int, path: str) -> bool:
    """Whether a web process answers 200."""
    try:
        return httpx.get(f"http://{HOST}:{port}{path}", timeout=5).status_code == 200
    except httpx.HTTPError:
        return False


def fresh_secrets() -> dict[str, str]:
    """Settings that all releases on one database share."""
    return {"ENCRYPTION_KEYS": Fernet.generate_key().decode()}
