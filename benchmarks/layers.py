"""Where a request's processor time goes: samples of the web workers' stacks under load, by layer.

py-spy takes them from outside, of the threads that hold the interpreter's lock. A sample belongs to the innermost frame of a layer that is named here, so that what a
layer calls of the standard library is its own. Times are those of the web processes; PostgreSQL and Valkey have theirs.
"""

import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Final

import psutil

from benchmarks import reading, stack, verifying
from benchmarks.creation import creation_requests
from benchmarks.load import run_load
from benchmarks.report import Claim, Report, Series
from demo.nodes.factory import prepare_chain
from localnet.anvil import Anvil

CLIENTS: Final = 8
_SAMPLES_A_SECOND: Final = 100

LAYERS: Final = {
    "limiter and Valkey": ("gateway/core/valkey", "rate_limits", "/redis/", "hiredis"),
    "key": ("accounts/keys/",),
    "database (psycopg, Django)": ("/psycopg", "django/db/", "gateway/core/postgres/"),
    "body in, answer out (JSON)": ("gateway/core/json", "gateway/core/api/wire"),
    "validation": (
        "creation/forms",
        "creation/references",
        "core/api/fields",
        "core/web_urls",
        "byhash/forms",
        "byhash/shapes",
    ),
    "building the answer": ("checkouts/payloads", "checkouts/options", "core/money"),
    "the product's services": ("checkouts/", "wallets/", "x402/", "settlements/", "accounts/"),
    "DRF": ("rest_framework/", "gateway/core/api/views"),
    "middleware": ("gateway/core/web/", "whitenoise/", "/csp/", "django/middleware/"),
    "Django's handler, URLs and responses": ("django/", "asgiref/"),
    "web server": ("gateway/server/", "granian/", "asyncio/"),
}
OTHER: Final = "other"


def run(*, rounds: int, seconds: float) -> list[Report]:
    """Sample creating, reading, listing and verifying, `rounds` times `seconds` each."""
    with (
        Anvil(8453) as node,
        stack.engines(**verifying._settings(node.url)),  # noqa: SLF001
    ):
        prepare_chain(node)
        merchant, key = stack.seed_merchant()
        to = verifying._record(merchant)  # noqa: SLF001
        reading._fill(merchant)  # noqa: SLF001
        kinds = {
            "create a checkout": creation_requests(key, "layers"),
            "read one": reading._kinds(key)["read one"],  # noqa: SLF001
            "list 20 with total": reading._kinds(key)["list 20 with total"],  # noqa: SLF001
            "verify a recorded payment": verifying._requests(key, to, count(1)),  # noqa: SLF001
        }
        with stack.server("benchmarks.product:application") as port:
            return [_profile(name, requests, port, rounds * seconds) for name, requests in kinds.items()]


def _profile(name: str, requests: Iterator[bytes], port: int, seconds: float) -> Report:
    run_load(port, requests, clients=CLIENTS, seconds=2)
    master = next(one for one in psutil.Process().children() if "granian" in str(one.cmdline()))
    with tempfile.TemporaryDirectory() as folder:
        samples = Path(folder) / "samples"
        command = [sys.executable.replace("python", "py-spy"), "record", "--subprocesses"]
        command += ["--rate", str(_SAMPLES_A_SECOND), "--duration", str(round(seconds))]
        command += ["--format", "raw", "--output", str(samples), "--gil"]
        sampler = subprocess.Popen([*command, "--pid", str(master.pid)])
        before = _processor_seconds(master)
        result = run_load(port, requests, clients=CLIENTS, seconds=seconds)
        used = _processor_seconds(master) - before
        sampler.wait(30)
        shares = _shares(samples.read_text())
    answers = sum(result.statuses.values())
    each = 1_000_000 * used / answers
    series = [Series(layer, "us", [each * share]) for layer, share in shares.items()]
    notes = [f"{answers} answers, {result.failures} of them no success"]
    total = Series("processor time of a request", "us", [each])
    claims: list[Claim] = []
    return Report(f"layers of: {name}", [total, *series], claims, notes)


def _processor_seconds(master: psutil.Process) -> float:
    times = [one.cpu_times() for one in master.children(recursive=True)]
    return sum(float(time.user + time.system) for time in times)


def _shares(samples: str) -> dict[str, float]:
    """Return each layer's share of the samples of py-spy's raw format: frames from outside to inside, and a number."""
    counted: Counter[str] = Counter()
    for line in samples.splitlines():
        stack_text, _, number = line.rpartition(" ")
        counted[_layer_of(stack_text.split(";"))] += int(number)
    whole = counted.total()
    return {layer: hits / whole for layer, hits in counted.most_common()}


def _layer_of(frames: list[str]) -> str:
    for frame in reversed(frames):
        for layer, fragments in LAYERS.items():
            if any(fragment in frame for fragment in fragments):
                return layer
    return OTHER
