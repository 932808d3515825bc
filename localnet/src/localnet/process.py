"""The base of all local nodes: a child process on a loopback port."""

import http.client
import json
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from localnet.errors import NodeError, NodeStartError

SOURCE = Path(__file__).resolve().parents[1]
"""The folder that this package lies in. Its programs are started there, so that they find it where it is not installed."""

STOP_SECONDS = 20.0
ANSWER_SECONDS = 60.0


class NodeProcess:
    """Use it as a context manager, or start and stop it. Without a start it talks to a running node."""

    def __init__(self, port: int | None) -> None:
        self.port = port or 0
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The process id. Raises NodeStartError when the node does not run."""
        if self._process is None:
            raise NodeStartError("The node is not running.")
        return self._process.pid

    def start(self) -> Self:
        """Start the node and return once it answers. Raises NodeStartError."""
        raise NotImplementedError

    def stop(self) -> None:
        """Stop this node's own process, which may write its state first. Does nothing when it does not run."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()


class JsonRpcNode(NodeProcess):
    """A node that is asked by JSON-RPC."""

    @property
    def url(self) -> str:
        """Where the node answers over HTTP, and with ws:// over WebSocket where it does."""
        return f"http://127.0.0.1:{self.port}"

    def call(self, method: str, params: list[Any]) -> Any:
        """Ask the node. Raises NodeError with its answer when that is an error."""
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=ANSWER_SECONDS)
        try:
            headers = {"Content-Type": "application/json"}
            connection.request("POST", "/", json.dumps(request), headers)
            answer = json.loads(connection.getresponse().read())
        finally:
            connection.close()
        if "error" in answer:
            error = answer["error"]
            raise NodeError(error["code"], error["message"], error.get("data"))
        return answer["result"]

    def rpc(self, method: str, *params: Any) -> Any:
        """Ask the node, with the parameters as arguments. Raises NodeError."""
        return self.call(method, list(params))
