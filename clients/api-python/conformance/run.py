"""Makes every call of the suite and prints what came of it. Arguments: the folder of the suite, the server's address."""

import json
import sys
from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from florin import ApiError, Florin, FlorinError, webhooks

KEY = "sk_test_conformance"


def call(number: int, told: Mapping[str, Any], server: str) -> Any:
    """Make the call of a scenario."""
    florin = Florin(
        told.get("url", f"{server}/s{number}"),
        told.get("api_key", KEY),
        timeout=told.get("timeout", 5),
        retries=told.get("retries", 2),
        wait=0.01,
    )
    resource, _, name = told["call"].partition(".")
    given = [told["body"]] if "body" in told else []
    named = {f"{key}_" if key == "from" else key: value for key, value in told.get("args", {}).items()}
    if "key" in told:
        named["idempotency_key"] = told["key"]
    try:
        answer = getattr(getattr(florin, resource), name)(*told.get("ids", []), *given, **named)
        if told.get("each"):
            return list(islice(answer, told.get("take")))
        return answer.page() if told.get("page") else answer
    finally:
        florin.close()


def verify(told: Mapping[str, Any]) -> Any:
    """Verify a webhook of the suite."""
    options = {"livemode": told["livemode"]} if "livemode" in told else {}
    return webhooks.construct(told["body"].encode(), told["headers"], told["secrets"], now=told["now"], **options)["id"]


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
    told = {
        "scenarios": [outcome(lambda: call(number, each, server)) for number, each in enumerate(scenarios)],  # noqa: B023
        "signatures": [outcome(lambda: verify(each)) for each in signatures],  # noqa: B023
    }
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
