"""Sells a page with PyPI x402's middleware for FastAPI or Flask (the first argument), until its input ends.

FACILITATOR_URL, FACILITATOR_KEY, PAY_TO and NETWORK (CAIP-2) are the merchant's. Prints its port. `GET /begun` tells how
many began to be served, `POST /release` lets them go on. SCHEME is exact unless given; of upto CHARGED is what is settled, in base
units. SPONSORED declares eip2612GasSponsoring. Runs with var/x402's Python.
"""

import asyncio
import os
import socket
import sys
import threading
from typing import Any

import httpx

from x402.http import FacilitatorConfig
from x402.http.facilitator_client_base import CreateHeadersAuthProvider
from x402.http.types import PaymentOption, RouteConfig
from x402.schemas import AssetAmount

PAGE = {"report": "seven"}


class Held:
    """Counts those who came, and keeps them until it is released."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._released = threading.Event()
        self.begun = 0

    def begin(self) -> None:
        """Count one more."""
        with self._lock:
            self.begun += 1

    def wait(self) -> None:
        """Wait until everybody may go on."""
        self._released.wait(120)

    def release(self) -> None:
        """Let all go on, and whoever comes later."""
        self._released.set()


def config(http_client: Any) -> FacilitatorConfig:
    """How the facilitator is asked."""
    key = {"Authorization": f"Bearer {os.environ['FACILITATOR_KEY']}"}
    headers = dict.fromkeys(("verify", "settle", "supported"), key)
    return FacilitatorConfig(
        url=os.environ["FACILITATOR_URL"],
        auth_provider=CreateHeadersAuthProvider(lambda: headers),
        http_client=http_client,
    )


def routes() -> dict[str, RouteConfig]:
    """What costs how much."""
    price: Any = "$0.01"
    if amount := os.environ.get("AMOUNT"):
        # As it is, of a seller who configures a wrong one.
        domain = {"name": "USD Coin", "version": "2"}
        price = AssetAmount(amount=amount, asset=os.environ["ASSET"], extra=domain)
    scheme = os.environ.get("SCHEME") or "exact"
    option = PaymentOption(scheme=scheme, pay_to=os.environ["PAY_TO"], price=price, network=os.environ["NETWORK"])
    extensions = None
    if os.environ.get("SPONSORED"):
        from x402.extensions.eip2612_gas_sponsoring import declare_eip2612_gas_sponsoring_extension

        extensions = declare_eip2612_gas_sponsoring_extension()
    return {"GET /report": RouteConfig(accepts=option, extensions=extensions)}


def overrides() -> dict[str, str]:
    """What of a maximum is settled."""
    charged = os.environ.get("CHARGED")
    return {"amount": charged} if charged else {}


def registered(server: Any) -> Any:
    """A resource server that knows the network's scheme."""
    if os.environ["NETWORK"].startswith("solana"):
        from x402.mechanisms.svm.exact import register_exact_svm_server

        return register_exact_svm_server(server)
    if os.environ.get("SCHEME") == "upto":
        from x402.mechanisms.evm.upto import UptoEvmServerScheme

        return server.register(os.environ["NETWORK"], UptoEvmServerScheme())
    from x402.mechanisms.evm.exact import register_exact_evm_server

    return register_exact_evm_server(server)


def serve_fastapi(listening: socket.socket, held: Held) -> None:
    """Serve with FastAPI until nobody holds the other end of our input."""
    import uvicorn
    from fastapi import FastAPI, Response

    from x402.http import HTTPFacilitatorClient
    from x402.http.middleware.fastapi import PaymentMiddlewareASGI, set_settlement_overrides
    from x402.server import x402ResourceServer

    app = FastAPI()
    released = asyncio.Event()

    @app.get("/report")
    async def report(response: Response) -> dict[str, str]:
        held.begin()
        # Not in a thread: the loop has few, and looks up the facilitator's address in them too.
        await asyncio.wait_for(released.wait(), 120)
        if charged := overrides():
            set_settlement_overrides(response, charged)
        return PAGE

    @app.get("/begun")
    async def begun() -> int:
        return held.begun

    @app.post("/release")
    async def release() -> None:
        released.set()

    client = HTTPFacilitatorClient(config(httpx.AsyncClient(timeout=60)))
    server = registered(x402ResourceServer(client))
    app.add_middleware(PaymentMiddlewareASGI, routes=routes(), server=server)
    running = uvicorn.Server(uvicorn.Config(app, log_level="error"))

    def end_with_input() -> None:
        sys.stdin.read()
        running.should_exit = True

    threading.Thread(target=end_with_input, daemon=True).start()
    running.run([listening])


def serve_flask(listening: socket.socket, held: Held) -> None:
    """Serve with Flask until nobody holds the other end of our input."""
    from flask import Flask, Response, jsonify
    from werkzeug.serving import make_server

    from x402.http import HTTPFacilitatorClientSync
    from x402.http.middleware.flask import payment_middleware, set_settlement_overrides
    from x402.server import x402ResourceServerSync

    app = Flask(__name__)

    @app.get("/report")
    def report() -> Response:
        held.begin()
        held.wait()
        response = jsonify(PAGE)
        if charged := overrides():
            set_settlement_overrides(response, charged)
        return response

    @app.get("/begun")
    def begun() -> str:
        return str(held.begun)

    @app.post("/release")
    def release() -> str:
        held.release()
        return ""

    client = HTTPFacilitatorClientSync(config(httpx.Client(timeout=60)))
    payment_middleware(app, routes(), registered(x402ResourceServerSync(client)))
    server = make_server("127.0.0.1", 0, app, threaded=True, fd=os.dup(listening.fileno()))

    def end_with_input() -> None:
        sys.stdin.read()
        server.shutdown()

    threading.Thread(target=end_with_input, daemon=True).start()
    server.serve_forever()


def main() -> None:
    """Say where, and serve."""
    serve = {"fastapi": serve_fastapi, "flask": serve_flask}[sys.argv[1]]
    with socket.create_server(("127.0.0.1", 0), backlog=100) as listening:
        sys.stdout.write(f"{listening.getsockname()[1]}\n")
        sys.stdout.flush()
        serve(listening, Held())


if __name__ == "__main__":
    main()
