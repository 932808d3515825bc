"""The nodes of the specification's main networks at once, on which nothing was ever deployed: every address is somebody's new wallet."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.nodes.proxy import ProxyServer
from wallets.chains.family import Network
from wallets.chains.registry import CHAINS
from wallets.chains.solana.adapter import GENESIS
from wallets.chains.ton.adapter import NETWORK_IDS

_IDS = {facts.name: facts.mainnet.chain_id or 0 for facts in CHAINS if not facts.is_optional}
_MASTERCHAIN = {"last": {"global_id": NETWORK_IDS[Network.MAINNET]}}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        is_head = self.path.endswith("/masterchainInfo")
        self._send(_MASTERCHAIN if is_head else {"accounts": []})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        results: dict[str, Any] = {
            "eth_chainId": hex(_IDS[self.path.strip("/")]),
            "eth_getCode": "0x",
            "eth_call": "0x",
            "getGenesisHash": GENESIS[Network.MAINNET],
            "getAccountInfo": {"context": {"slot": 1}, "value": None},
        }
        answer = {"jsonrpc": "2.0", "id": asked["id"]}
        self._send(answer | {"result": results[asked["method"]]})

    def _send(self, document: Any) -> None:
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def serve_empty_chains() -> Iterator[dict[str, str]]:
    """Serve them, and yield the settings that name them."""
    with ProxyServer(("127.0.0.1", 0), _Handler) as server:
        # It serves until the session ends: no need to look a hundred times a second whether it has.
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        here = f"http://127.0.0.1:{server.server_port}"
        yield {f"{name.upper()}_RPC_URLS": f"{here}/{name}" for name in _IDS}
        server.shutdown()
        thread.join()
