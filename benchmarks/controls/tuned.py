"""The control a specialist would write: FastAPI on one event loop, asyncpg, a cache of keys, orjson.

It does the product's work: the same limit with its headers, validation, statement (with the replay of an order_ref), body
and errors, by calling the product's own functions for these. So the ratio shows what Django, DRF, psycopg and threads cost.
It lacks a deadline for bodies, request ids, and metrics.
"""

import hashlib
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import django
import orjson
import redis.asyncio as redis
from fastapi import FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool

django.setup()

from django.utils import timezone  # noqa: E402

from accounts.states import Mode  # noqa: E402
from benchmarks.controls.statement import CREATE, values  # noqa: E402
from checkouts.creation import service  # noqa: E402
from checkouts.creation.forms import parse_create  # noqa: E402
from checkouts.options import available_chains  # noqa: E402
from checkouts.rows import CheckoutRow  # noqa: E402
from checkouts.selectors import checkout_object  # noqa: E402
from gateway.core.api import rate_limits  # noqa: E402
from gateway.core.api.errors import AuthenticationError, GatewayError  # noqa: E402
from gateway.core.outbound import url_policy  # noqa: E402
from wallets.selectors import Offerable, offerable_chains  # noqa: E402

_KEPT_SECONDS = 3
# A load generator never reaches it.
_LIMIT = rate_limits.Limit("tuned", 10**9)

_state: dict[str, Any] = {}
_keys: dict[bytes, tuple[float, int]] = {}
_offerable: dict[int, tuple[float, list[Offerable]]] = {}


@asynccontextmanager
async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
    """Open the pools."""
    _state["pool"] = await asyncpg.create_pool(os.environ["DATABASE_URL"], min_size=8, max_size=8)
    _state["redis"] = redis.Redis.from_url(os.environ["REDIS_URL"])
    yield
    await _state["pool"].close()


app = FastAPI(lifespan=lifespan)


@app.exception_handler(GatewayError)
async def refuse(_request: Request, error: GatewayError) -> Response:
    """Answer with the error's envelope."""
    return Response(orjson.dumps(error.body()), error.status, error.headers(), "application/json")


async def _merchant_of(header: str) -> int:
    digest = hashlib.sha256(header.removeprefix("Bearer ").encode()).digest()
    known = _keys.get(digest)
    if known and known[0] > time.monotonic():
        return known[1]
    merchant = await _state["pool"].fetchval(
        "SELECT merchant_id FROM accounts_apikey WHERE digest = $1 AND revoked_at IS NULL", digest
    )
    if merchant is None:
        raise AuthenticationError("Unknown API key.")
    _keys[digest] = (time.monotonic() + _KEPT_SECONDS, merchant)
    return int(merchant)


async def _offerable_of(merchant: int) -> list[Offerable]:
    known = _offerable.get(merchant)
    if known and known[0] > time.monotonic():
        return known[1]
    found = await run_in_threadpool(offerable_chains, merchant, Mode.LIVE)
    _offerable[merchant] = (time.monotonic() + _KEPT_SECONDS, found)
    return found


async def _count(merchant: int) -> rate_limits.RateState:
    window = int(time.time()) // _LIMIT.seconds
    used = await _state["redis"].eval(
        rate_limits._SCRIPT,  # noqa: SLF001
        1,
        f"tuned:{merchant}:{window}",
        2 * _LIMIT.seconds,
    )
    return rate_limits.RateState(
        limit=_LIMIT.most,
        remaining=max(_LIMIT.most - used, 0),
        reset=(window + 1) * _LIMIT.seconds,
        exceeded=used > _LIMIT.most,
    )


@app.post("/api/v1/checkouts")
async def create(request: Request) -> Response:
    """Create a checkout, or answer with the one of the same order_ref."""
    merchant = await _merchant_of(request.headers.get("authorization", ""))
    counted = await _count(merchant)
    wanted = parse_create(orjson.loads(await request.body()), url_policy())
    now = timezone.now()
    chains = await _offerable_of(merchant)
    parameters = service._parameters(merchant, Mode.LIVE, wanted, chains, now)  # noqa: SLF001
    created_id, *known = await _state["pool"].fetchrow(CREATE, *values(parameters))
    row = (
        service._row(created_id, parameters)  # noqa: SLF001
        if known[0] is None
        else CheckoutRow(*known)
    )
    body = checkout_object(row)
    body["available_chains"] = available_chains(row, reserved=None, now=now)
    status = 201 if known[0] is None else 200
    return Response(orjson.dumps(body), status, counted.headers(), "application/json")
