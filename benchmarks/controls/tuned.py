"""The control a specialist would write: FastAPI and asyncpg, key cache, one statement, orjson. Same rows, same checks.

A bare prototype: no replay of an order_ref, no validation beyond what the row needs, no envelope for errors.
"""

import hashlib
import os
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import asyncpg
import orjson
import redis.asyncio as redis
from fastapi import FastAPI, Request, Response

from benchmarks.controls.statement import CREATE
from gateway.core.ids import new_code, new_id
from wallets.forwarders.addresses import (
    checksum,
    deposit_key,
)

_state: dict[str, Any] = {}
_keys: dict[bytes, tuple[float, int]] = {}
_wallets: dict[int, tuple[float, bytes]] = {}


@asynccontextmanager
async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
    """Open the pools."""
    _state["pool"] = await asyncpg.create_pool(
        os.environ["DATABASE_URL"], min_size=8, max_size=8
    )
    _state["redis"] = redis.Redis.from_url(os.environ["REDIS_URL"])
    yield
    await _state["pool"].close()


app = FastAPI(lifespan=lifespan)


async def _merchant_of(header: str) -> int:
    digest = hashlib.sha256(header.removeprefix("Bearer ").encode()).digest()
    known = _keys.get(digest)
    if known and known[0] > time.monotonic():
        return known[1]
    merchant = await _state["pool"].fetchval(
        "SELECT merchant_id FROM accounts_apikey WHERE digest = $1 AND revoked_at IS NULL",
        digest,
    )
    _keys[digest] = (time.monotonic() + 3, merchant)
    return int(merchant)


async def _wallet_of(merchant: int) -> bytes:
    known = _wallets.get(merchant)
    if known and known[0] > time.monotonic():
        return known[1]
    address = await _state["pool"].fetchval(
        "SELECT address FROM wallets_receivingwallet WHERE merchant_id = $1 AND retired_at IS NULL LIMIT 1",
        merchant,
    )
    _wallets[merchant] = (time.monotonic() + 3, bytes.fromhex(address[2:]))
    return _wallets[merchant][1]


async def _count(merchant: int) -> None:
    pipeline = _state["redis"].pipeline(transaction=False)
    pipeline.incr(f"tuned:{merchant}")
    pipeline.expire(f"tuned:{merchant}", 60)
    await pipeline.execute()


def _offers(address: str) -> dict[str, Any]:
    return {
        "base": {"tokens": ["USDC"], "address": address},
        "polygon": {"tokens": ["USDC", "USDT"], "address": address},
    }


@app.post("/api/v1/checkouts")
async def create(request: Request) -> Response:
    """Create a checkout."""
    merchant = await _merchant_of(request.headers["authorization"])
    await _count(merchant)
    body = orjson.loads(await request.body())
    destination = await _wallet_of(merchant)
    nonce, now = secrets.token_bytes(32), datetime.now(UTC)
    key = deposit_key(destination, nonce)
    offers = _offers(checksum(key))
    public_id, code = new_id("chk_live"), new_code()
    expires_at = now + timedelta(minutes=30)
    texts = ("redirect_url", "customer_ref", "product_ref", "order_ref")
    await _state["pool"].execute(
        CREATE,
        *(public_id, code, merchant, Decimal(body["amount"])),
        *(body.get("description", ""), orjson.dumps(body.get("metadata", {})).decode()),
        *(body.get(name, "") for name in texts),
        *(orjson.dumps(offers).decode(), nonce, expires_at, now),
        *(key, destination),
    )
    answer = _answer(body, offers) | {"id": public_id, "created_at": now.isoformat()}
    answer |= {
        "checkout_url": f"http://127.0.0.1/c/{code}",
        "expires_at": expires_at.isoformat(),
    }
    return Response(
        orjson.dumps(answer), status_code=201, media_type="application/json"
    )


def _answer(body: dict[str, Any], offers: dict[str, Any]) -> dict[str, Any]:
    return {
        "status": "pending",
        "amount": body["amount"],
        "currency": "USD",
        "description": body.get("description"),
        "metadata": body.get("metadata", {}),
        "available_chains": [
            {"chain": chain, **offer, "payAmount": body["amount"], "priority": number}
            for number, (chain, offer) in enumerate(offers.items())
        ],
        "references": {
            name: body.get(name)
            for name in ("customer_ref", "product_ref", "order_ref")
        },
        "amount_received": "0.000000",
        "amount_remaining": body["amount"],
        "transfers": [],
    }
