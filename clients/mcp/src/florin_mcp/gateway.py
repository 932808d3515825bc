"""Calls of Florin's API on behalf of a client, with the key that its user gave."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from florin import Florin
from florin.transport import Reply, Request, Sender, Transport
from florin_mcp import VERSION

_SECONDS: Final = 30.0
_NOT_PLAIN: Final = re.compile(r"[^ !-'*-~]")
_LONGEST_NAME: Final = 60


@dataclass(frozen=True, slots=True)
class Held:
    """A Florin key and its scopes."""

    # Not shown: reports of errors print local variables.
    key: str = field(repr=False)
    scopes: frozenset[str]

    @property
    def mode(self) -> str:
        """Return `live` or `test`."""
        return "live" if self.key.startswith("sk_live_") else "test"


@dataclass(frozen=True, slots=True)
class Gateway:
    """A Florin at `url`. All keys share its connections."""

    url: str
    sender: Sender

    def florin(self, key: str, client: str) -> Florin:
        """Return the API with a key. A call is sent once: the assistant decides about repeats. Raises ValueError for no key."""
        agent = f"florin-mcp/{VERSION} ({_NOT_PLAIN.sub('', client)[:_LONGEST_NAME]})"
        return Florin(self.url, key, retries=0, sender=_Named(self.sender, agent))

    def held(self, key: str) -> tuple[Held, Mapping[str, Any]]:
        """Ask Florin what a key may do; return that and the answer. Raises FlorinError, and ValueError for no key."""
        found = self.florin(key, "key").key.get()
        return Held(key, frozenset(found["scopes"])), found

    def page(self, path: str) -> str:
        """Return the address of a page of the dashboard."""
        return f"{self.url.rstrip('/')}/dashboard/{path}"


def gateway_at(url: str) -> Gateway:
    """Return the Florin at an address. Raises ValueError for one to which a key would travel in the open."""
    return Gateway(url, Transport(url, seconds=_SECONDS))


@dataclass(frozen=True, slots=True)
class _Named:
    """Sends under the name of the assistant's program, for the logs of the server's operator."""

    sender: Sender
    agent: str

    def send(self, request: Request) -> Reply:
        return self.sender.send(replace(request, headers={**request.headers, "User-Agent": self.agent}))
