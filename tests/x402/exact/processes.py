"""Settling in processes of their own, which can be killed."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings

from tests.contract.client import ApiClient
from tests.database import own_database
from tests.tree import ROOT

# Ends a test whose process hangs. On a machine with ten times as much to do as it has cores for, two processes take a minute
# to import what they need alone, and a hundred settlements come after that.
SECONDS = 300.0


@contextmanager
def settling(
    client: ApiClient, bodies: list[dict[str, Any]], url: str, *, chain: str = "base"
) -> Iterator[subprocess.Popen[str]]:
    """A process that settles payments over a chain's node at `url`; killed at the end if it still runs."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.x402.exact.settler"],
        cwd=ROOT,
        env=environment(url, chain),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert client.merchant is not None
    assert process.stdin is not None
    asked = {"merchant": client.merchant.pk, "bodies": bodies}
    process.stdin.write(json.dumps(asked))
    process.stdin.close()
    process.stdin = None
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def answers_of(process: subprocess.Popen[str]) -> list[dict[str, Any]]:
    """What a process that comes to its end answered."""
    told, _ = process.communicate(timeout=SECONDS)
    found: list[dict[str, Any]] = json.loads(told)
    return found


def environment(url: str, chain: str = "base") -> dict[str, str]:
    """Settings of a gateway that uses this test's database, gas keys and a chain's node."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CHAIN_")}
    return kept | {
        **own_database(),
        "DJANGO_SETTINGS_MODULE": "gateway.settings",
        "FLORIN_ENV": "development",
        "CHAIN_NETWORK": "local",
        f"CHAIN_{chain.upper()}_RPC_URLS": url,
        "GAS_KEYS": ",".join(settings.GAS_KEYS),
        "GAS_KEYS_SOLANA": ",".join(settings.GAS_KEYS_SOLANA),
        "GAS_DAILY_COINS": "base=100",
    }
