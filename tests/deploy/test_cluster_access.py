"""etcd and Patroni, as they are shipped, change nothing for those who have no certificate; `florinctl check` tells an open one."""

import re
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from http.client import HTTPSConnection
from pathlib import Path
from string import Template
from typing import Any, Final

import pytest
import yaml

from tests.contract.servers import free_port
from tests.deploy.failover.cluster import PATRONI
from tests.deploy.florinctl import florinctl
from tests.tree import ROOT
from tests.waiting import wait_until

HOST: Final = "127.0.0.1"
SHIPPED: Final = ROOT / "deploy" / "cluster"
ETCD: Final = shutil.which("etcd")
PYTHON: Final = PATRONI / "bin" / "python"
RANGE: Final = ("POST", "/v3/kv/range", '{"key":"AA=="}')
CONFIG: Final = ("PATCH", "/config", "-")
# Patroni's REST API by itself: whom it lets in depends on nothing but its settings.
DOOR: Final = """
import sys
from types import SimpleNamespace
from patroni.api import RestApiServer
from patroni.config import Config
cluster = SimpleNamespace(members=[], workers={}, config=None)
dcs = SimpleNamespace(cluster=cluster, get_cluster=lambda: cluster)
RestApiServer(SimpleNamespace(dcs=dcs), Config(sys.argv[1], None)["restapi"]).start()
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a machine of the cluster."""
    folder = tmp_path_factory.mktemp("certificates")
    subprocess.run([SHIPPED / "certificates", folder, f"db1={HOST}"], check=True)
    for end in ("crt", "key"):
        shutil.copyfile(folder / f"db1.{end}", folder / f"cluster.{end}")
    return folder


def shipped(name: str, words: Mapping[str, object]) -> dict[str, Any]:
    """A file of the cluster, with its names replaced."""
    text = Template((SHIPPED / name).read_text()).safe_substitute(words)
    settings: dict[str, Any] = yaml.safe_load(text)
    return settings


@contextmanager
def listening(argv: list[str | Path], port: int) -> Iterator[None]:
    """Run a program that listens at a port of this machine, and end it."""
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def listens() -> bool:
        with suppress(OSError), socket.create_connection((HOST, port), timeout=1):
            return True
        assert process.poll() is None
        return False

    try:
        wait_until(listens)
        yield
    finally:
        process.kill()
        process.communicate()


TLS: Final = {"certfile", "keyfile", "cafile", "verify_client"}


@pytest.mark.parametrize(
    ("kept", "told"),
    [
        (None, {403}),
        (TLS, {403}),
        ({"authentication"}, {401}),
        ({"allowlist"}, {403}),
        # The control: what check takes for open.
        (set(), {400}),
    ],
)
def test_patroni_lets_nobody_change_the_cluster(
    certificates: Path, tmp_path: Path, kept: set[str] | None, told: set[int]
) -> None:
    """Each of its three defences alone does."""
    if not PYTHON.exists():
        pytest.skip("this machine lacks Patroni")
    port = free_port()
    words = {"ADDRESS": HOST, "CERTIFICATES": certificates, "FOLDER": tmp_path, "REST_PASSWORD": "secret"}
    settings = shipped("patroni.yml", words)
    rest = settings["restapi"]
    if kept is not None:
        settings["restapi"] = rest = {name: value for name, value in rest.items() if name in kept}
    if kept == {"allowlist"} == rest.keys():
        # This machine is a member, which the list lets in.
        rest["allowlist"] = ["10.77.0.0/24"]
    rest |= dict.fromkeys(("listen", "connect_address"), f"{HOST}:{port}")
    file = tmp_path / "patroni.yml"
    file.write_text(yaml.safe_dump(settings))
    with listening([PYTHON, "-c", DOOR, file], port):
        assert florinctl.probe(HOST, port, *CONFIG) == told


@pytest.mark.parametrize("is_open", [False, True])
def test_etcd_answers_only_who_has_a_certificate(certificates: Path, tmp_path: Path, is_open: bool) -> None:
    if ETCD is None:
        pytest.skip("this machine lacks etcd")
    client, peer = free_port(), free_port()
    words = {"NAME": "db1", "ADDRESS": HOST, "FOLDER": tmp_path, "CERTIFICATES": certificates}
    settings = shipped("etcd.yml", words | {"MEMBERS": f"db1=https://{HOST}:2380"})
    if is_open:
        del settings["client-transport-security"]
        for kind in ("listen", "advertise"):
            settings[f"{kind}-client-urls"] = f"http://{HOST}:2379"
    # One member need not wait for others.
    settings |= {"heartbeat-interval": 10, "election-timeout": 100}
    text = re.sub(r":2379\b", f":{client}", re.sub(r":2380\b", f":{peer}", yaml.safe_dump(settings)))
    file = tmp_path / "etcd.yml"
    file.write_text(text)
    with listening([ETCD, "--config-file", file], client):
        assert florinctl.probe(HOST, client, *RANGE) == ({200} if is_open else set())
        if not is_open:
            # With its certificate the same request is answered.
            assert answered(client, certificates) == 200


def answered(port: int, certificates: Path) -> int:
    """The status of the request with the cluster's certificate."""
    known = ssl.create_default_context(cafile=certificates / "ca.crt")
    known.load_cert_chain(certificates / "cluster.crt", certificates / "cluster.key")
    with closing(HTTPSConnection(HOST, port, timeout=10, context=known)) as peer:
        peer.request(*RANGE)
        return peer.getresponse().status
