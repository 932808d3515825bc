"""Resource servers that sell one page, over a facilitator: with PyPI x402's own middleware, and in version 1 by hand.

The library has no server of version 1 any more; what one says is in its schemas.
"""

import base64
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response

from tests.nodes.authorizing import DOMAIN
from tests.waiting import wait_until

PRICE_UNITS = 10_000
SECRET = {"report": "seven"}


@dataclass(frozen=True)
class Shop:
    """Where the facilitator is, the merchant's key for it, and where the merchant is paid, in which token.

    `network` is version 1's name of the chain, `extra` what payers must know beside it.
    """

    facilitator: str
    key: str
    pay_to: str
    asset: str
    network: str = "base"
    extra: Mapping[str, Any] = field(default_factory=DOMAIN.copy)

    @property
    def headers(self) -> dict[str, str]:
        """What the facilitator wants to be sent."""
        return {"Authorization": f"Bearer {self.key}"}


@contextmanager
def selling(app: FastAPI) -> Iterator[str]:
    """Serve an application; yield its address."""
    config = uvicorn.Config(
        app, host="127.0.0.1", port=0, log_level="error", loop="asyncio", lifespan="off"
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        wait_until(lambda: server.started, seconds=30)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


def second_shop(shop: Shop) -> FastAPI:
    """Version 2, by the library's middleware and a price in dollars."""
    from x402.http import FacilitatorConfig, HTTPFacilitatorClient
    from x402.http.facilitator_client_base import CreateHeadersAuthProvider
    from x402.http.middleware.fastapi import PaymentMiddlewareASGI
    from x402.http.types import PaymentOption, RouteConfig
    from x402.mechanisms.evm.exact import register_exact_evm_server
    from x402.server import x402ResourceServer

    app = _app()
    headers = dict.fromkeys(("verify", "settle", "supported"), shop.headers)
    auth = CreateHeadersAuthProvider(lambda: headers)
    # Nobody closes the library's own client when a server ends.
    http = httpx.AsyncClient(
        limits=httpx.Limits(max_keepalive_connections=0), timeout=60
    )
    client = HTTPFacilitatorClient(
        FacilitatorConfig(url=shop.facilitator, auth_provider=auth, http_client=http)
    )
    server = register_exact_evm_server(x402ResourceServer(client))
    option = PaymentOption(
        scheme="exact", pay_to=shop.pay_to, price="$0.01", network="eip155:8453"
    )
    app.add_middleware(
        PaymentMiddlewareASGI,
        routes={"GET /report": RouteConfig(accepts=option)},
        server=server,
    )
    return app


def first_shop(shop: Shop) -> FastAPI:
    """Version 1: header X-PAYMENT, the offer in the body of the 402."""
    app = _app()

    @app.middleware("http")
    async def sell(request: Request, call_next: Any) -> Response:
        wanted = _wanted(shop, str(request.url))
        header = request.headers.get("X-PAYMENT")
        if header is None:
            return JSONResponse(
                {
                    "x402Version": 1,
                    "error": "X-PAYMENT is required",
                    "accepts": [wanted],
                },
                status_code=402,
            )
        body = {
            "x402Version": 1,
            "paymentPayload": json.loads(base64.b64decode(header)),
            "paymentRequirements": wanted,
        }
        async with httpx.AsyncClient(headers=shop.headers, timeout=60) as client:
            verified = await client.post(f"{shop.facilitator}/verify", json=body)
            if not verified.json()["isValid"]:
                return JSONResponse(verified.json(), status_code=402)
            found: Response = await call_next(request)
            settled = await client.post(f"{shop.facilitator}/settle", json=body)
        found.headers["X-PAYMENT-RESPONSE"] = base64.b64encode(settled.content).decode()
        return found

    return app


def _wanted(shop: Shop, url: str) -> dict[str, Any]:
    return {
        "scheme": "exact",
        "network": shop.network,
        "maxAmountRequired": str(PRICE_UNITS),
        "resource": url,
        "description": "A report",
        "mimeType": "application/json",
        "payTo": shop.pay_to,
        "maxTimeoutSeconds": 60,
        "asset": shop.asset,
        "extra": shop.extra,
    }


def _app() -> FastAPI:
    app = FastAPI()

    @app.get("/report")
    async def report() -> dict[str, str]:
        return SECRET

    return app
