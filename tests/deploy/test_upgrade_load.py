"""An upgrade under load: no request fails behind the proxy that is shipped, or behind any that asks who is ready."""

import itertools
import random
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest
import urllib3

from gateway.processes.stack import HOST
from tests.contract.servers import free_port
from tests.deploy.florinctl import florinctl, settings_of
from tests.deploy.releases import Process, Release, answers, fresh_secrets
from tests.template_database import another_copy
from tests.tree import ROOT
from tests.waiting import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.slow, pytest.mark.unmeasured]

CLIENTS: Final = 4
# Of each client between two requests, so that the machine has time to start processes.
PAUSE_SECONDS: Final = 0.01
# A key may create 60 checkouts in a minute, and ask 60 other things.
KEYS: Final = 200
NAMES: Final = tuple(florinctl.ROLLED)
OPEN_KEYS: Final = f"""
from accounts.keys.service import digest_of, new_key
from accounts.models import ApiKey, Merchant
secrets = [new_key("test") for _ in range({KEYS})]
ApiKey.objects.bulk_create(
    ApiKey(merchant=Merchant.objects.get(), mode="test", name="load", digest=digest_of(one), last_four=one[-4:])
    for one in secrets
)
print(*secrets)
"""


@dataclass
class Load:
    """Clients that create checkouts and read them. Each begins with its share of `requests`, and goes on until told to stop."""

    front: Callable[[], str]
    keys: list[str]
    created: int = 0
    read: int = 0
    failures: list[str] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    @property
    def sent(self) -> int:
        """How many requests were answered or failed."""
        return self.created + self.read + len(self.failures)

    def start(self) -> None:
        """Start the clients."""
        for number in range(CLIENTS):
            keys = itertools.cycle(self.keys[number::CLIENTS])
            thread = threading.Thread(target=self._run, args=(keys,))
            thread.start()
            self._threads.append(thread)

    def finish(self, at_least: int) -> None:
        """Stop the clients once so many requests were sent."""
        try:
            wait_until(lambda: self.sent >= at_least, seconds=300, pause=0.1)
        finally:
            self._stop.set()
            for thread in self._threads:
                thread.join()

    def _run(self, keys: Iterator[str]) -> None:
        with urllib3.PoolManager(retries=False, timeout=30.0) as pool:
            for key in keys:
                if self._stop.wait(PAUSE_SECONDS):
                    return
                self._create_and_read(pool, key)

    def _create_and_read(self, pool: urllib3.PoolManager, key: str) -> None:
        body = {"amount": "25.00", "currency": "USD"}
        made = self._ask(pool, key, "POST", "", 201, json=body)
        self.created += made is not None
        place = "" if made is None else f"/{made['id']}"
        self.read += self._ask(pool, key, "GET", place, 200) is not None

    def _ask(self, pool: urllib3.PoolManager, key: str, method: str, place: str, wanted: int, **more: Any) -> Any:
        url = f"{self.front()}/api/v1/checkouts{place}"
        # A connection that is kept may be to a process that ends.
        headers = {"Authorization": f"Bearer {key}", "Connection": "close"}
        try:
            answer = pool.request(method, url, headers=headers, **more)
        except urllib3.exceptions.HTTPError as error:
            self.failures.append(f"{method}: {type(error).__name__}")
            return None
        if answer.status != wanted:
            self.failures.append(f"{method}: {answer.status} {answer.data[:200]!r}")
            return None
        return answer.json()


@contextmanager
def asking(ports: list[int], _: Path) -> Iterator[Callable[[], str]]:
    """Ask each process twice a second whether it is ready, as any proxy does; yield who says where to go."""
    ready, stop = list(ports), threading.Event()

    def ask() -> None:
        while not stop.wait(0.5):
            ready[:] = [port for port in ports if answers(port, "/readyz")] or ready

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield lambda: f"http://{HOST}:{random.choice(ready)}"
    finally:
        stop.set()
        thread.join()


@contextmanager
def caddy(ports: list[int], folder: Path) -> Iterator[Callable[[], str]]:
    """Run Caddy with the shipped configuration, on loopback and without TLS; yield who says its URL."""
    port = free_port()
    text = (ROOT / "deploy" / "Caddyfile").read_text()
    named = {"web1:8000": ports[0], "web2:8000": ports[1], "streams:8000": 9}
    for name, own in named.items():
        text = text.replace(name, f"{HOST}:{own}")
    text = text.replace("{$FLORIN_HOST}", f"http://{HOST}:{port}")
    file = folder / "Caddyfile"
    file.write_text(text.replace("{\n", "{\n\tadmin off\n", 1))
    found = shutil.which("caddy")
    assert found, "This test needs Caddy: apt install caddy"
    process = subprocess.Popen(
        [found, "run", "--config", str(file)],
        env={"HOME": str(folder)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until(lambda: answers(port, "/readyz"))
        yield lambda: f"http://{HOST}:{port}"
    finally:
        process.terminate()
        process.wait()


class Machine:
    """Two web processes of a release, and what systemd does for florinctl."""

    def __init__(self, folder: Path, release: Release) -> None:
        self.ports = [free_port() for _ in NAMES]
        self.settings = settings_of(folder, WEB_PORTS=",".join(map(str, self.ports)), FLORIN_RUN=str(folder / "run"))
        self._running: dict[str, Process] = {}
        self.release = release
        release.open_shop("http://127.0.0.1:9/")
        self.keys = release.shell(OPEN_KEYS).split()
        for name in NAMES:
            self.start(name)

    def is_ready(self) -> bool:
        """Whether both processes serve."""
        return all(answers(port, "/readyz") for port in self.ports)

    def checkouts(self) -> int:
        """How many checkouts there are."""
        with psycopg.connect(self.release.environment["DATABASE_URL"]) as database:
            row = database.execute("SELECT count(*) FROM checkouts_checkout").fetchone()
        assert row
        return int(row[0])

    def start(self, name: str) -> None:
        folder = self.settings.path("FLORIN_RUN", "") / name.replace("@", "-")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        port = self.ports[NAMES.index(name)]
        self._running[name] = self.release.start_web(port, DRAIN_FILE=str(folder / "drain"))

    def end(self, with_signal: signal.Signals = signal.SIGTERM) -> None:
        for name in list(self._running):
            self._running.pop(name).end(with_signal)

    def service(self, _settings: Any, verb: str, *names: str) -> str:
        """What takes the place of `systemctl`: only web processes are here."""
        assert verb == "restart"
        for name in set(names) & set(NAMES):
            self._running.pop(name).end()
            self.start(name)
        return ""

    def upgrade(self, _: Load) -> None:
        """Expand the schema and replace the processes, as florinctl does."""
        self.release.manage(*florinctl.EXPAND)
        florinctl.roll(self.settings)
        self.release.manage(*florinctl.MIGRATE)

    def replace_at_once(self, load: Load) -> None:
        """Do it as if there were one process, which is away until a client meets that: a proxy tries for some seconds."""
        self.end(signal.SIGKILL)
        wait_until(lambda: load.failures)
        for name in NAMES:
            self.start(name)


@pytest.fixture(scope="module")
def machine(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """Two processes on the schema of 0.25.0, which had no `retired_at`."""
    with ExitStack() as stack:
        url = stack.enter_context(another_copy("upgrade"))
        release = Release(ROOT, url, **fresh_secrets())
        release.manage("migrate", "settlements", "0001")
        made = Machine(tmp_path_factory.mktemp("machine"), release)
        stack.callback(made.end)
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setattr(florinctl, "service", made.service)
        yield made


@dataclass(frozen=True)
class Front:
    """What stands before the processes: how to run it, for how long florinctl waits for it, and the requests it is tried with."""

    run: Callable[[list[int], Path], AbstractContextManager[Callable[[], str]]]
    seconds: int
    requests: int


# The shipped proxy is of the night (tests/night.py): the standard run does not install it.
FRONTS: Final = {"asking": Front(asking, 2, 1_000), "caddy": Front(caddy, 8, 10_000)}


@pytest.fixture(params=list(FRONTS.values()), ids=list(FRONTS))
def front(request: pytest.FixtureRequest) -> Front:
    found: Front = request.param
    return found


def under_load(machine: Machine, folder: Path, front: Front, act: Callable[[Load], None], *, requests: int) -> Load:
    """Let clients work before, while and after something happens; return what they met."""
    wait_until(machine.is_ready)
    with front.run(machine.ports, folder) as where:
        load = Load(where, machine.keys)
        load.start()
        try:
            wait_until(lambda: load.sent > requests // 20, pause=0.05)
            act(load)
        finally:
            load.finish(requests)
    return load


def test_no_request_fails_while_processes_are_replaced_one_by_one(
    machine: Machine, front: Front, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    machine.settings = replace(machine.settings, env={**machine.settings.env, "PROXY_SECONDS": str(front.seconds)})
    began, before = time.monotonic(), machine.checkouts()
    load = under_load(machine, tmp_path, front, machine.upgrade, requests=front.requests)
    record_property("requests", load.sent)
    record_property("seconds", round(time.monotonic() - began, 1))
    assert load.failures == []
    assert machine.checkouts() - before == load.created
    with psycopg.connect(machine.release.environment["DATABASE_URL"]) as database:
        database.execute("SELECT retired_at FROM settlements_gasaccount")


def test_requests_fail_while_all_processes_are_replaced_at_once(machine: Machine, front: Front, tmp_path: Path) -> None:
    load = under_load(machine, tmp_path, front, machine.replace_at_once, requests=600)
    assert load.failures
