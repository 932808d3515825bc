"""Sells a page on Solana with PyPI x402's middleware, in version 2. Runs with var/svm's Python until its input ends.

FACILITATOR_URL, FACILITATOR_KEY and PAY_TO are the merchant's. Prints the port that it listens on.
"""

import os
import socket
import sys
import threading

import httpx
import uvicorn
from fastapi import FastAPI
from x402.http import FacilitatorConfig, HTTPFacilitatorClient
from x402.http.facilitator_client_base import CreateHeadersAuthProvider
from x402.http.middleware.fastapi import PaymentMiddlewareASGI
from x402.http.types import PaymentOption, RouteConfig
from x402.mechanisms.svm.exact import register_exact_svm_server
from x402.server import x402ResourceServer

app = FastAPI()


@app.get("/report")
async def report() -> dict[str, str]:
    """What is sold."""
    return {"report": "seven"}


def protect() -> None:
    """Ask a cent for the page."""
    key = {"Authorization": f"Bearer {os.environ['FACILITATOR_KEY']}"}
    headers = dict.fromkeys(("verify", "settle", "supported"), key)
    config = FacilitatorConfig(
        url=os.environ["FACILITATOR_URL"],
        auth_provider=CreateHeadersAuthProvider(lambda: headers),
        http_client=httpx.AsyncClient(timeout=60),
    )
    option = PaymentOption(
        scheme="exact",
        pay_to=os.environ["PAY_TO"],
        price="$0.01",
        network="solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp",
    )
    server = x402ResourceServer(HTTPFacilitatorClient(config))
    app.add_middleware(
        PaymentMiddlewareASGI,
        routes={"GET /report": RouteConfig(accepts=option)},
        server=register_exact_svm_server(server),
    )


def main() -> None:
    """Serve until nobody holds the other end of our input."""
    protect()
    server = uvicorn.Server(uvicorn.Config(app, log_level="error"))

    def end_with_input() -> None:
        sys.stdin.read()
        server.should_exit = True

    threading.Thread(target=end_with_input, daemon=True).start()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        sys.stdout.write(f"{listening.getsockname()[1]}\n")
        sys.stdout.flush()
        server.run([listening])


if __name__ == "__main__":
    main()
