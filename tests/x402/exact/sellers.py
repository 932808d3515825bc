"""A resource server that sells one page, over a facilitator, in the standard's first version: written by hand.

The public library has no server of that version any more; what one says is in its schemas.
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

from localnet.authorizations import DOMAIN
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
def first_shop(shop: Shop) -> Iterator[str]:
    """Sell; yield where. Header X-PAYMENT, the offer in the body of the 402."""
    app = FastAPI()

    @app.get("/report")
    async def report() -> dict[str, str]:
        return SECRET

    @app.middleware("http")
    async def sell(request: Request, call_next: Any) -> Response:
        wanted = _wanted(shop, str(request.url))
        header = request.headers.get("X-PAYMENT")
        if header is None:
            return JSONResponse(
                {"x402Version": 1, "error": "X-PAYMENT is required", "accepts": [wanted]}, status_code=402
            )
        body = {"x402Version": 1, "paymentPayload": json.loads(base64.b64decode(header)), "paymentRequirements": wanted}
        async with httpx.AsyncClient(headers=shop.headers, timeout=60) as client:
            verified = await client.post(f"{shop.facilitator}/verify", json=body)
            if not verified.json()["isValid"]:
                return JSONResponse(verified.json(), status_code=402)
            found: Response = await call_next(request)
            settled = await client.post(f"{shop.facilitator}/settle", json=body)
        found.headers["X-PAYMENT-RESPONSE"] = base64.b64encode(settled.content).decode()
        return found

    with _serving(app) as url:
        yield url


@contextmanager
def _serving(app: FastAPI) -> Iterator[str]:
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", loop="asyncio", lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        wait_until(lambda: server.started)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


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
