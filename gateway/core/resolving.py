"""Connections to strangers' servers: a name is looked up once, and each of its addresses must be public."""

import asyncio
import errno
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from aiohttp.abc import AbstractResolver, ResolveResult

from gateway.core.outbound import may_connect

# Lookups cannot be cancelled: each slow name server blocks a thread, and some must stay free.
_LOOKUP_THREADS = 64

Lookup = Callable[..., list[tuple[Any, ...]]]


class ForbiddenAddressError(OSError):
    """The connection would go to an address that is not public."""


class CheckingResolver(AbstractResolver):
    """Resolves a name, and refuses it if any of its addresses is forbidden: each may be tried in turn."""

    def __init__(self, *, loopback_allowed: bool, lookup: Lookup) -> None:
        self._loopback_allowed = loopback_allowed
        self._lookup = lookup
        self._threads = ThreadPoolExecutor(_LOOKUP_THREADS, "lookup")

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the addresses of `host`. Raises ForbiddenAddressError, OSError."""
        ask = partial(self._lookup, host, port, family=family, type=socket.SOCK_STREAM)
        found = await asyncio.get_running_loop().run_in_executor(self._threads, ask)
        for *_, address in found:
            require_allowed(address[0], loopback_allowed=self._loopback_allowed)
        return [
            ResolveResult(
                hostname=host, host=address[0], port=port, family=kind, proto=protocol, flags=socket.AI_NUMERICHOST
            )
            for kind, _, protocol, _, address in found
        ]

    async def close(self) -> None:
        """Release the threads without waiting for lookups in progress."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def require_allowed(host: str, *, loopback_allowed: bool) -> None:
    """Raise ForbiddenAddressError unless the IP address `host` may be connected to."""
    if not may_connect(host, loopback_allowed=loopback_allowed):
        raise ForbiddenAddressError(errno.EACCES, "forbidden address")


def checked_socket(target: tuple[Any, ...], *, loopback_allowed: bool) -> socket.socket:
    """Return a socket for the address about to be connected to: IP literals bypass the resolver."""
    family, kind, protocol, _, address = target
    require_allowed(address[0], loopback_allowed=loopback_allowed)
    return socket.socket(family, kind, protocol)
