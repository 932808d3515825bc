"""Run a node: python -m localnet.solana PORT."""

import sys

from localnet.solana.server import Server


def main() -> None:
    """Serve on the port named, and say so once it listens."""
    server = Server(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
    print(f"Listening on 127.0.0.1:{server.port}", flush=True)  # noqa: T201
    server.serve()


main()
