"""The WebSocket: pushes a notice of each confirmed transaction that names an account (`logsSubscribe`)."""

import json
from collections.abc import Callable
from itertools import count, takewhile
from threading import Thread
from typing import Any, Final

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve

from localnet.solana.ledger import Landed

_LOOK_SECONDS: Final = 0.02

Naming = Callable[[str], list[Landed]]
"""Returns the confirmed transactions that name an account, the newest first."""


class Sockets:
    """A WebSocket server of its own, on a port that the system chooses."""

    def __init__(self, naming: Naming) -> None:
        self._naming = naming
        self._server = serve(self._handle, "127.0.0.1", 0)
        Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def port(self) -> int:
        """The port it listens on."""
        port: int = self._server.socket.getsockname()[1]
        return port

    def _handle(self, socket: ServerConnection) -> None:
        numbers = count(1)
        # By the subscription's number: the account, and its newest transaction that was pushed.
        known: dict[int, tuple[str, str]] = {}
        try:
            while True:
                try:
                    request = json.loads(socket.recv(timeout=_LOOK_SECONDS))
                except TimeoutError:
                    self._push(socket, known)
                    continue
                number = next(numbers)
                [account] = request["params"][0]["mentions"]
                known[number] = account, self._newest(account)
                answer = {"jsonrpc": "2.0", "id": request["id"], "result": number}
                socket.send(json.dumps(answer))
        except ConnectionClosed:
            return

    def _newest(self, account: str) -> str:
        return next((one.signature for one in self._naming(account)), "")

    def _push(self, socket: ServerConnection, known: dict[int, tuple[str, str]]) -> None:
        for number, (account, last) in known.items():
            landed = self._naming(account)
            for one in takewhile(lambda one: one.signature != last, landed):  # noqa: B023 - used in this turn
                socket.send(json.dumps(_notice(number, one)))
            known[number] = account, landed[0].signature if landed else ""


def _notice(number: int, landed: Landed) -> dict[str, Any]:
    value = {"signature": landed.signature, "err": landed.err, "logs": landed.result.logs()}
    result = {"context": {"slot": landed.slot}, "value": value}
    params = {"result": result, "subscription": number}
    return {"jsonrpc": "2.0", "method": "logsNotification", "params": params}
