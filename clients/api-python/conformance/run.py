"""Makes every call of the suite and prints what came of it. Arguments: the folder of the suite, the server's address.

FLORIN_TRANSPORT is `async` for the asynchronous client. FLORIN_PROXY is the address of a proxy.
"""

import asyncio
import json
import os
import sys
from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from florin import ApiError, Florin, FlorinError, testing, webhooks

KEY = "sk_test_conformance"
IS_ASYNC = os.environ.get("FLORIN_TRANSPORT") == "async"
PROXY = os.environ.get("FLORIN_PROXY")


def opened(kind: type[Any], number: int, told: Mapping[str, Any], server: str) -> Any:
    """Return the client of a scenario."""
    return kind(
        told.get("url", f"{server}/s{number}"),
        told.get("api_key", KEY),
        timeout=told.get("timeout", 5),
        retries=told.get("retries", 2),
        wait=0.01,
        proxy=PROXY,
    )


def started(florin: Any, told: Mapping[str, Any]) -> Any:
    """Make the call of a scenario; return its answer, list, or what is awaited."""
    resource, _, name = told["call"].partition(".")
    given = [told["body"]] if "body" in told else []
    named = {f"{key}_" if key == "from" else key: value for key, value in told.get("args", {}).items()}
    if "key" in told:
        named["idempotency_key"] = told["key"]
    return getattr(getattr(florin, resource), name)(*told.get("ids", []), *given, **named)


def call(number: int, told: Mapping[str, Any], server: str) -> Any:
    """Make the call of a scenario, and wait for it."""
    if IS_ASYNC:
        return asyncio.run(awaited(number, told, server))
    florin = opened(Florin, number, told, server)
    try:
        answer = started(florin, told)
        if told.get("each"):
            return list(islice(answer, told.get("take")))
        return answer.page() if told.get("page") else answer
    finally:
        florin.close()


async def awaited(number: int, told: Mapping[str, Any], server: str) -> Any:
    """Make the call of a scenario with the asynchronous client."""
    from florin.asynchronous import AsyncFlorin

    async with opened(AsyncFlorin, number, told, server) as florin:
        answer = started(florin, told)
        if told.get("each"):
            return await taken(answer, told.get("take"))
        return await (answer.page() if told.get("page") else answer)


async def taken(objects: Any, most: int | None) -> list[Any]:
    """Return the objects of a list, at most so many."""
    found: list[Any] = []
    async for each in objects:
        found.append(each)
        if len(found) == most:
            break
    return found


def verify(told: Mapping[str, Any]) -> Any:
    """Verify a webhook of the suite."""
    options = {"livemode": told["livemode"]} if "livemode" in told else {}
    return webhooks.construct(told["body"].encode(), told["headers"], told["secrets"], now=told["now"], **options)["id"]


def signed(told: Mapping[str, Any]) -> dict[str, str]:
    """Sign a body of the suite."""
    options = {"event_id": told["event_id"]} if "event_id" in told else {}
    return testing.sign(told["body"].encode(), told["secret"], now=told["now"], **options)


def outcome(work: Callable[[], Any]) -> dict[str, Any]:
    """Return what came of it, in the suite's words."""
    try:
        result = work()
        return {"result": result.decode() if isinstance(result, bytes) else result}
    except ApiError as error:
        return {"error": {"class": "ApiError", **vars(error)}}
    except FlorinError as error:
        return {"error": {"class": type(error).__name__}}
    except ValueError:
        return {"error": {"class": "usage"}}


def main(folder: Path, server: str) -> None:
    """Run everything."""
    scenarios = json.loads((folder / "scenarios.json").read_text())
    signatures = json.loads((folder / "signatures.json").read_text())
    bodies = json.loads((folder / "signed.json").read_text())
    told = {
        "scenarios": [outcome(lambda: call(number, each, server)) for number, each in enumerate(scenarios)],  # noqa: B023
        "signatures": [outcome(lambda: verify(each)) for each in signatures],  # noqa: B023
        "signed": [signed(each) for each in bodies],
    }
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
