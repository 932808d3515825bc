"""The proxy of `deploy/cluster` leads each request to the process that answers it."""

import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from string import Template

import pytest
import yaml

from tests.contract.servers import free_port
from tests.tree import ROOT
from tests.waiting import wait_until
from tests.webhooks.receiver import Receiver, Reply, receiving

SHIPPED = ROOT / "deploy" / "cluster" / "haproxy-web.cfg"
HAPROXY = shutil.which("haproxy", path="/usr/sbin:/usr/bin:/usr/local/sbin")


@dataclass(frozen=True)
class Proxy:
    """The shipped proxy before one web process and one stream server; the second machine does not answer."""

    port: int
    web: Receiver
    streams: Receiver

    def ask(self, path: str, **headers: str) -> tuple[int, str]:
        """Return the status of an answer, and who gave it."""
        peer = HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            peer.request("GET", path, headers=headers)
            answer = peer.getresponse()
            return answer.status, answer.read().decode()
        except OSError:
            return 0, ""
        finally:
            peer.close()


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """The file as it is shipped, with its names replaced and ports that are free here."""
    if HAPROXY is None:
        pytest.skip("this machine lacks haproxy")
    with ExitStack() as exits:
        web, streams = (exits.enter_context(receiving()) for _ in range(2))
        web.reply = lambda _: Reply(body=b"web")
        streams.reply = lambda _: Reply(body=b"streams")
        port, nobody = free_port(), free_port()
        text = SHIPPED.read_text()
        for name, value in (
            ("$FRONT", f"127.0.0.1:{port}"),
            ("$WEB1:8000", f"127.0.0.1:{web.port}"),
            ("$WEB1:8010", f"127.0.0.1:{streams.port}"),
            ("$WEB2:8000", f"127.0.0.1:{nobody}"),
            ("$WEB2:8010", f"127.0.0.1:{nobody}"),
            # Ten times as short.
            ("timeout http-request 10s", "timeout http-request 1s"),
        ):
            assert name in text
            text = text.replace(name, value)
        file = tmp_path_factory.mktemp("proxy") / "haproxy.cfg"
        file.write_text(text)
        made = Proxy(port, web, streams)
        exits.enter_context(running(file))
        wait_until(lambda: made.ask("/")[0] == 200)
        yield made


@contextmanager
def running(file: Path) -> Iterator[None]:
    """Run HAProxy with a configuration."""
    process = subprocess.Popen([str(HAPROXY), "-q", "-db", "-f", file])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def test_the_stream_of_a_page_goes_to_the_stream_server_and_the_page_to_web(proxy: Proxy) -> None:
    assert proxy.ask("/c/abc123/stream") == (200, "streams")
    assert proxy.ask("/c/abc123/stream?x=1") == (200, "streams")
    for path in ("/c/abc123", "/c/abc123/streams", "/x/c/a/stream"):
        assert proxy.ask(path) == (200, "web")


def test_etcd_and_patroni_ask_for_certificates_of_the_cluster() -> None:
    folder = SHIPPED.parent
    etcd = yaml.safe_load((folder / "etcd.yml").read_text())
    for kind in ("client-transport-security", "peer-transport-security"):
        assert etcd[kind]["client-cert-auth"] is True
    assert "http://" not in str(etcd)
    patroni = yaml.safe_load((folder / "patroni.yml").read_text())
    rest = patroni["restapi"]
    assert (rest["verify_client"], rest["allowlist"]) == ("optional", ["127.0.0.1/32"])
    assert rest["authentication"]["password"] == "$REST_PASSWORD"
    assert {"certfile", "keyfile", "cafile"} <= rest.keys()
    assert patroni["etcd3"]["protocol"] == "https"
    check = (folder / "haproxy-database.cfg").read_text()
    assert "check-ssl verify required ca-file" in check


def test_while_tls_is_added_the_proxy_finds_a_primary_with_and_without_it(tmp_path: Path) -> None:
    if HAPROXY is None:
        pytest.skip("this machine lacks haproxy")
    text = (SHIPPED.parent / "haproxy-database.cfg").read_text()
    more = re.findall(r"^ +server db.-plain .*\n", (SHIPPED.parent / "README.md").read_text(), re.MULTILINE)
    assert [one.split()[-1] for one in more] == ["no-check-ssl"] * 2
    last = "    server db2 $DB2:5432\n"
    assert text.count(last) == 2
    subprocess.run([SHIPPED.parent / "certificates", tmp_path, "db1=127.0.0.1"], check=True)
    words = {"DB1": "127.0.0.1", "DB2": "127.0.0.2", "CERTIFICATES": str(tmp_path)}
    file = tmp_path / "haproxy.cfg"
    file.write_text(Template(text.replace(last, last + "".join(more))).substitute(words))
    subprocess.run([HAPROXY, "-c", "-q", "-f", file], check=True)


def test_a_machines_certificate_is_of_the_authority_and_for_its_address(tmp_path: Path) -> None:
    script = SHIPPED.parent / "certificates"
    subprocess.run([script, tmp_path, "db1=127.0.0.1"], check=True)
    subprocess.run([script, tmp_path, "db2=10.0.0.2"], check=True)
    authority = tmp_path / "ca.crt"
    for name, address in (("db1", "127.0.0.1"), ("db2", "10.0.0.2")):
        asked = ("-CAfile", authority, "-verify_ip", address)
        made = tmp_path / f"{name}.crt"
        subprocess.run(["openssl", "verify", *asked, made], check=True)
        assert (tmp_path / f"{name}.key").stat().st_mode & 0o077 == 0


def test_the_metrics_are_not_shown_outside(proxy: Proxy) -> None:
    assert proxy.ask("/metrics")[0] == 404
    assert "/metrics" not in {got.path for got in proxy.web.got}


@pytest.mark.parametrize("path", ["/", "/c/abc123/stream"])
def test_a_request_whose_headers_do_not_come_is_ended_by_the_proxy(proxy: Proxy, path: str) -> None:
    with socket.create_connection(("127.0.0.1", proxy.port), timeout=15) as slow:
        slow.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n".encode())
        told = b"".join(iter(lambda: slow.recv(4096), b""))
    assert told.startswith(b"HTTP/1.1 408 ")


def test_florin_hears_that_tls_ended_before_the_proxy(proxy: Proxy) -> None:
    proxy.ask("/before", **{"X-Forwarded-Proto": "https"})
    [got] = [got for got in proxy.web.got if got.path == "/before"]
    told = {name.lower(): value for name, value in got.headers.items()}
    assert told["x-forwarded-proto"] == "https"
    assert told["x-forwarded-for"] == "127.0.0.1"
