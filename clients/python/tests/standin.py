"""A stand-in for the facilitator: a small HTTP server with answers in the contract's form, and in any other on demand.

It stands for nothing but the form. Florin's own tests prove what the real facilitator decides.
"""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from florin_x402.config import Config

KEY = "sk_live_a-key-that-must-not-leak"
PAY_TO = "0x00000000000000000000000000000000000000A1"
USDC = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
PAYER = "0x00000000000000000000000000000000000000B2"
CONFIG = {
    "payTo": {"base": PAY_TO, "polygon": PAY_TO},
    "networks": ["base", "polygon"],
    "assets": {"base": ["USDC"], "polygon": ["USDC", "USDT"]},
    "scheme": "exact",
    "settlement": {"base": "batch", "polygon": "batch"},
}
KINDS = [
    {"x402Version": 1, "scheme": "exact", "network": "base"},
    {"x402Version": 2, "scheme": "exact", "network": "eip155:8453"},
]
CHAINS = {"data": [{"chain": "base", "chainId": 8453, "tokenContracts": {"USDC": {"address": USDC, "decimals": 6}}}]}


class Heard(NamedTuple):
    """A request that the stand-in got."""

    path: str
    body: Any
    key: str


class Told(NamedTuple):
    """What to answer in place of what the contract says; `raw` may be anything, None closes the connection."""

    status: int = 200
    raw: bytes | None = b"{}"
    headers: tuple[tuple[str, str], ...] = ()


Override = Callable[[int], Told | None]
"""Decides by how many requests came to the path before; None leaves it to the contract."""


class StandIn:
    """The state of a stand-in, and what it is told to answer."""

    def __init__(self) -> None:
        self.heard: list[Heard] = []
        self.overrides: dict[str, Override] = {}
        self.url = ""
        self._lock = threading.Lock()
        self._used: dict[str, str] = {}
        self._settled: set[str] = set()

    def config(self, prices: Any, **changes: Any) -> Config:
        """A paywall that asks this facilitator."""
        return Config(url=self.url, key=KEY, prices=prices, **changes)

    def tell(self, path: str, *told: Told) -> None:
        """Answer the next requests to a path so, each once."""
        known = len(self.at(path))
        replies = dict(enumerate(told, start=known))
        self.overrides[path] = replies.get

    def at(self, path: str) -> list[Heard]:
        """The requests that came to a path."""
        return [one for one in list(self.heard) if one.path.endswith(path)]

    def answer(self, path: str, body: Any, key: str) -> Told:
        """Answer a request."""
        with self._lock:
            before = len([one for one in self.heard if one.path == path])
            self.heard.append(Heard(path, body, key))
            short = path.rpartition("/x402")[2] or path
            override = self.overrides.get(short)
            told: Told | None = override(before) if override else None
            if told and told.raw is not None and told.status < 500:
                return told
            # What it says and what it does are two things: an answer may be lost.
            value = self._by_contract(short, body, key)
        return told or Told(raw=json.dumps(value).encode())

    def _by_contract(self, path: str, body: Any, key: str) -> Any:
        if path == "/verify" and "payment" in body:
            return self._verified(body, key)
        if path == "/offers":
            offers = [
                {"format": "jws", "acceptIndex": i, "signature": f"{i}.{body['resource']}"}
                for i, _ in enumerate(body["accepts"])
            ]
            return {"extension": {"offer-receipt": {"info": {"offers": offers}, "schema": {}}}, "validUntil": 1}
        fixed = {"/config": CONFIG, "/supported": {"kinds": KINDS}}
        if path in fixed or path.endswith("/chains"):
            return fixed.get(path, CHAINS)
        payload = body["paymentPayload"]["payload"]
        nonce = payload.get("authorization", payload)["nonce"]
        if path == "/verify":
            if nonce in self._settled:
                return {"isValid": False, "invalidReason": "nonce_already_used"}
            return {"isValid": True, "payer": PAYER}
        self._settled.add(nonce)
        network = body["paymentRequirements"]["network"]
        settled = {"success": True, "transaction": nonce, "network": network, "payer": PAYER}
        if wanted := body.get("receiptFor"):
            receipt = {"format": "jws", "signature": f"{nonce}.{wanted}"}
            settled["extensions"] = {"offer-receipt": {"info": {"receipt": receipt}}, "other": {}}
        return settled

    def _verified(self, body: Any, key: str) -> Any:
        tx_hash = body["payment"]["txHash"]
        if self._used.setdefault(tx_hash, key) != key:
            reason = {"reason": "already_used", "message": "Used.", "retryAfter": None}
            return {"valid": False, "txHash": tx_hash} | reason
        return {
            "valid": True,
            "txHash": tx_hash,
            "verifiedAt": "2026-11-20T12:00:00Z",
            "paymentId": f"xpay_{tx_hash[-4:]}",
            "confirmations": 3,
        }


class _Handler(BaseHTTPRequestHandler):
    standin: StandIn
    protocol_version = "HTTP/1.1"
    # Headers and body are written apart: the body would wait 40 ms for the headers' acknowledgement.
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._answer(None)

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        self._answer(json.loads(self.rfile.read(length)))

    def _answer(self, body: Any) -> None:
        assert self.headers["Authorization"] == f"Bearer {KEY}"
        key = self.headers.get("Idempotency-Key", "")
        told = self.standin.answer(self.path, body, key)
        if told.raw is None:
            self.close_connection = True
            return
        self.send_response(told.status)
        for name, value in told.headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(told.raw)))
        self.end_headers()
        self.wfile.write(told.raw)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - inherited
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64


@contextmanager
def standing_in() -> Iterator[StandIn]:
    """A stand-in that listens on loopback."""
    standin = StandIn()
    handler = type("Handler", (_Handler,), {"standin": standin})
    with _Server(("127.0.0.1", 0), handler) as server:
        standin.url = f"http://127.0.0.1:{server.server_address[1]}/api/v1/x402"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield standin
        server.shutdown()
        thread.join()
