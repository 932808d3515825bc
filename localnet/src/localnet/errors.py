"""Errors of local nodes."""

from typing import Any


class NodeMissingError(Exception):
    """The node's program is not installed."""


class NodeStartError(Exception):
    """The node's program ended, or did not answer in time."""


class NodeError(Exception):
    """The node answered with an error: JSON-RPC `code`, `message` and `data`."""

    def __init__(self, code: int, message: str, data: Any) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code
        self.message = message
        self.data = data
