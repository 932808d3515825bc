"""Fetches a text from a stranger's server: public addresses only, no redirects, no cookies, limited in time and size."""

import asyncio
import socket
from collections.abc import Mapping
from functools import partial
from typing import Final

import aiohttp

from gateway.core.outbound import UrlPolicy
from gateway.core.resolving import CheckingResolver, Lookup, checked_socket

SECONDS: Final = 8.0
MOST_BYTES: Final = 4_096


class UnavailableTextError(Exception):
    """The server did not answer 200 in time, or has a forbidden address. The message is for whoever named the server."""


def fetch_text(
    url: str,
    *,
    policy: UrlPolicy,
    seconds: float = SECONDS,
    lookup: Lookup = socket.getaddrinfo,
    most_bytes: int = MOST_BYTES,
    headers: Mapping[str, str] | None = None,
) -> str:
    """Return the first `most_bytes` of what `url` answers to a GET, undecodable bytes replaced. Raises UnavailableTextError.

    The caller checked the URL by `gateway.core.outbound`; its addresses are checked here, where they are connected to. `headers`
    are sent besides ours, and replace those of the same name.
    """
    return asyncio.run(
        _fetch(
            url,
            loopback_allowed=policy.loopback_allowed,
            seconds=seconds,
            lookup=lookup,
            most_bytes=most_bytes,
            headers=headers or {},
        )
    )


async def _fetch(
    url: str, *, loopback_allowed: bool, seconds: float, lookup: Lookup, most_bytes: int, headers: Mapping[str, str]
) -> str:
    resolver = CheckingResolver(loopback_allowed=loopback_allowed, lookup=lookup)
    connector = aiohttp.TCPConnector(
        resolver=resolver,
        socket_factory=partial(checked_socket, loopback_allowed=loopback_allowed),
        use_dns_cache=False,
    )
    session = aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"User-Agent": "Florin", "Accept": "text/plain", "Accept-Encoding": "identity", **headers},
        auto_decompress=False,
        trust_env=False,
    )
    try:
        async with asyncio.timeout(seconds), session, session.get(url, allow_redirects=False) as response:
            if response.status != 200:
                raise UnavailableTextError(f"it answers with status {response.status}")
            return (await _begin(response, most_bytes)).decode(errors="replace")
    except TimeoutError:
        raise UnavailableTextError("it does not answer in time") from None
    except (aiohttp.ClientError, OSError, ValueError):
        # Not in more detail: the reason would tell a stranger about our network.
        raise UnavailableTextError("it cannot be reached") from None
    finally:
        await resolver.close()


async def _begin(response: aiohttp.ClientResponse, most_bytes: int) -> bytes:
    begin = b""
    async for chunk in response.content.iter_any():
        begin += chunk
        if len(begin) >= most_bytes:
            break
    return begin[:most_bytes]
