"""`florin-mcp` serves one key over stdio, or with --http each request's own key."""

import argparse
import os
import sys
from collections.abc import Sequence

from mcp.server.transport_security import TransportSecuritySettings

from florin import FlorinError
from florin_mcp.gateway import Gateway, gateway_at
from florin_mcp.reading import READING
from florin_mcp.server import FlorinServer, bearer, http_options
from florin_mcp.writing import WRITING


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; return its exit code."""
    parser = _parser()
    asked = parser.parse_args(arguments)
    if asked.yes and not asked.write:
        parser.error("--yes is about write tools: give --write too.")
    try:
        gateway = gateway_at(asked.url)
        if asked.http is not None:
            _serve_http(gateway, asked)
        else:
            desk_server(gateway, os.environ.get("FLORIN_API_KEY", ""), write=asked.write, asks=not asked.yes).run()
    except (FlorinError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except KeyboardInterrupt:
        pass
    return 0


def desk_server(gateway: Gateway, key: str, *, write: bool, asks: bool) -> FlorinServer:
    """Return the server of one key, which it asks Florin about once. Raises FlorinError, and ValueError for no key."""
    held, _ = gateway.held(key)
    return FlorinServer(gateway, lambda: held, READING + (WRITING if write else ()), asks=asks)


def shared_server(gateway: Gateway, *, write: bool, asks: bool) -> FlorinServer:
    """Return the server that takes the key of each request."""
    tools = READING + (WRITING if write else ())
    return FlorinServer(gateway, bearer, tools, asks=asks, **http_options(gateway))


def _serve_http(gateway: Gateway, asked: argparse.Namespace) -> None:
    host, port = asked.http
    shared_server(gateway, write=asked.write, asks=not asked.yes).run(
        "streamable-http",
        host=host,
        port=port,
        stateless_http=True,
        json_response=True,
        # A web page that reaches it by a name of its own has no key.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isascii() or not port.isdecimal():
        raise argparse.ArgumentTypeError("write it as 127.0.0.1:8100")
    return host.strip("[]"), int(port)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="florin-mcp",
        description="Let an assistant read payments. The key is in FLORIN_API_KEY, or in each request with --http.",
    )
    parser.add_argument("--url", default=os.environ.get("FLORIN_URL", ""), help="where Florin is, or FLORIN_URL")
    parser.add_argument(
        "--http", type=_address, metavar="HOST:PORT", help="serve streamable HTTP at /mcp; bearers are Florin keys"
    )
    parser.add_argument(
        "--write", action="store_true", help="offer the tools that write, where the key's scopes allow them"
    )
    parser.add_argument("--yes", action="store_true", help="do not ask a person about each write")
    return parser


if __name__ == "__main__":
    sys.exit(main())
