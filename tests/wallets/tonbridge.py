"""A bridge of TON Connect over https, and a wallet that listens at it. No public bridge and no wallet app can be reached from the tests.

The bridge is written after bridge.md of ton-blockchain/ton-connect and the answers of ton-connect/bridge: it keeps messages for each
client until their time is over or a later reading names them as read, and sends them as events. The wallet seals with PyNaCl, and
reads the page's link as an app would.
"""

import base64
import http.client
import json
import ssl
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from time import monotonic
from typing import Any, Final
from urllib.parse import parse_qs, urlencode, urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from nacl.public import Box, PrivateKey, PublicKey

from tests.waiting import PATIENCE_SECONDS

MOST_TTL_SECONDS: Final = 300
HEARTBEAT_SECONDS: Final = 0.2
_PATH: Final = "/bridge"


@dataclass
class Message:
    """What waits for a client: the event's number, when it is dropped, and the text as it was sent on."""

    number: int
    until: float
    data: str


class Bridge:
    """The queues behind the server. `asked` are the paths that were asked for, in order."""

    def __init__(self, port: int) -> None:
        self.url = f"https://127.0.0.1:{port}{_PATH}"
        self.asked: list[str] = []
        self.refuses = False
        self._news = threading.Condition()
        self._queues: dict[str, list[Message]] = {}
        self._count = 0
        self._is_over = False

    def put(self, to: str, data: str, ttl: int = MOST_TTL_SECONDS) -> None:
        """Keep a message for a client, and send it on; a bridge that lies sends whatever it likes."""
        with self._news:
            self._count += 1
            self._queues.setdefault(to, []).append(Message(self._count, monotonic() + ttl, data))
            self._news.notify_all()

    def named(self, path: str) -> list[dict[str, str]]:
        """The queries of all requests for a path, such as `events`."""
        found = [urlsplit(one) for one in self.asked]
        return [
            {name: values[0] for name, values in parse_qs(one.query).items()}
            for one in found
            if one.path == f"{_PATH}/{path}"
        ]

    def drop_read(self, clients: list[str], last: int) -> None:
        """Drop what a reading names as read. What was only written stays: its reader may have gone, and hears it at the next stream."""
        with self._news:
            for client in clients:
                self._queues[client] = [one for one in self._queues.get(client, []) if one.number > last]

    def after(self, clients: list[str], last: int, seconds: float) -> list[Message] | None:
        """Wait for messages with a later number; None once the bridge is over."""
        with self._news:
            kept = [one for client in clients for one in self._queues.get(client, [])]
            found = [one for one in kept if one.number > last and one.until > monotonic()]
            if not found and not self._is_over:
                self._news.wait(seconds)
            return None if self._is_over else sorted(found, key=lambda one: one.number)

    def close(self) -> None:
        """End all streams."""
        with self._news:
            self._is_over = True
            self._news.notify_all()


class Handler(BaseHTTPRequestHandler):
    """Answers `GET /bridge/events` and `POST /bridge/message` of pages of any origin."""

    protocol_version = "HTTP/1.1"
    bridge: Bridge

    def do_GET(self) -> None:
        """Send a client's messages as events, until one side goes."""
        query = self._query("events")
        clients = query.get("client_id", "").split(",")
        if self.bridge.refuses or not all(_is_key(client) for client in clients):
            return self._say(400)
        last = int(self.headers.get("Last-Event-ID") or query.get("last_event_id", "0"))
        self.bridge.drop_read(clients, last)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "private, no-cache, no-transform")
        self.send_header("Access-Control-Allow-Origin", "*")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        return self._stream(clients, last)

    def _stream(self, clients: list[str], last: int) -> None:
        self.wfile.write(b"\n")
        while (found := self.bridge.after(clients, last, HEARTBEAT_SECONDS)) is not None:
            if not found:
                self.wfile.write(b"event: heartbeat\r\n\r\n")
            for one in found:
                self.wfile.write(f"event: message\r\nid: {one.number}\r\ndata: {one.data}\r\n\r\n".encode())
                last = one.number
            self.wfile.flush()

    def do_POST(self) -> None:
        """Take a message for another client."""
        query = self._query("message")
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        sender, to, ttl = query.get("client_id", ""), query.get("to", ""), query.get("ttl", "")
        is_right = _is_key(sender) and _is_key(to) and ttl.isdecimal() and int(ttl) <= MOST_TTL_SECONDS
        if self.bridge.refuses or not is_right:
            return self._say(400)
        self.bridge.put(to, json.dumps({"from": sender, "message": body}), int(ttl))
        return self._say(200)

    def log_message(self, *_: Any) -> None:
        """Stay silent."""

    def _query(self, path: str) -> dict[str, str]:
        self.bridge.asked.append(self.path)
        parts = urlsplit(self.path)
        assert parts.path == f"{_PATH}/{path}", self.path
        return {name: values[0] for name, values in parse_qs(parts.query).items()}

    def _say(self, status: int) -> None:
        body = json.dumps({"message": "OK" if status == 200 else "wrong", "statusCode": status}).encode()
        self.send_response(status)
        self.send_header("Access-Control-Allow-Origin", "*")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Server(ThreadingHTTPServer):
    """A server that is silent about clients who go: Chromium first refuses the certificate, and then takes it."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Show what is no client's going."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


def _is_key(text: str) -> bool:
    return len(text) == 64 and set(text) <= set("0123456789abcdef")


@contextmanager
def running_bridge() -> Iterator[Bridge]:
    """Run a bridge on this machine, under a certificate of its own."""
    server = Server(("127.0.0.1", 0), Handler)
    server.socket = _tls().wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    bridge = Bridge(server.server_port)
    server.RequestHandlerClass = type("Bound", (Handler,), {"bridge": bridge})
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield bridge
    finally:
        bridge.close()
        server.shutdown()
        server.server_close()
        thread.join()


def _tls() -> ssl.SSLContext:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "bridge")])
    now = datetime.now(UTC)
    built = x509.CertificateBuilder(issuer_name=name, subject_name=name, public_key=key.public_key(), serial_number=1)
    built = built.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    names = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    certificate = built.add_extension(names, critical=False).sign(key, hashes.SHA256())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "bridge.pem")
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        file.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
        context.load_cert_chain(file)
    return context


@dataclass
class RelayedApp:
    """A wallet app: it takes a page's link, and answers at its bridge, each time with the next number of an event."""

    bridge: Bridge
    key: PrivateKey = field(default_factory=PrivateKey.generate)
    page: str = ""
    asked: dict[str, Any] = field(default_factory=dict)
    last: int = 0
    events: int = 0

    @property
    def id(self) -> str:
        """The app's id at the bridge."""
        return bytes(self.key.public_key).hex()

    def open(self, link: str) -> None:
        """Take what a link asks. Raises AssertionError for one that an app would not take."""
        query = parse_qs(urlsplit(link).query, strict_parsing=True)
        assert query["ret"] == ["back"]
        assert self.page in {"", query["id"][0]}
        self.page = query["id"][0]
        if "r" in query:
            assert query["v"] == ["2"]
            self.asked = json.loads(query["r"][0])

    def connect(self, *items: dict[str, Any]) -> None:
        """Share an account, or whatever else `items` are."""
        self.tell("connect", {"items": list(items), "device": {"appName": "Tonkeeper", "maxProtocolVersion": 2}})

    def tell(self, event: str, payload: Any) -> None:
        """Send an event."""
        self.events += 1
        self.send({"event": event, "id": self.events, "payload": payload})

    def send(self, message: Any) -> None:
        """Seal a message for the page, and post it."""
        query = urlencode({"client_id": self.id, "to": self.page, "ttl": MOST_TTL_SECONDS})
        connection = self._connection()
        connection.request("POST", f"{_PATH}/message?{query}", body=self.sealed(message))
        assert connection.getresponse().status == 200
        connection.close()

    def sealed(self, message: Any) -> str:
        """A message as it goes over the bridge, in base64."""
        return base64.b64encode(self._box().encrypt(json.dumps(message).encode())).decode()

    def read(self) -> dict[str, Any]:
        """Wait for the next message of the page, and open it."""
        query = urlencode({"client_id": self.id, "last_event_id": self.last})
        connection = self._connection()
        connection.request("GET", f"{_PATH}/events?{query}")
        lines = iter(connection.getresponse().readline, b"")
        number, data = 0, ""
        until = monotonic() + PATIENCE_SECONDS
        for line in lines:
            # Heartbeats come as long as the bridge runs.
            assert monotonic() < until, f"the page asks nothing; the bridge was asked {self.bridge.asked}"
            name, _, value = line.decode().strip().partition(": ")
            number = int(value) if name == "id" else number
            data = value if name == "data" else data
            if not line.strip() and data:
                break
        connection.close()
        self.last = number
        told = json.loads(data)
        assert told["from"] == self.page
        return self.opened(told["message"])

    def opened(self, sealed: str) -> dict[str, Any]:
        """Open a message of the page."""
        message: dict[str, Any] = json.loads(self._box().decrypt(base64.b64decode(sealed)))
        return message

    def _box(self) -> Box:
        return Box(self.key, PublicKey(bytes.fromhex(self.page)))

    def _connection(self) -> http.client.HTTPSConnection:
        parts = urlsplit(self.bridge.url)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return http.client.HTTPSConnection(parts.hostname or "", parts.port, context=context, timeout=PATIENCE_SECONDS)
