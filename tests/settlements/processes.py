"""Programs that settle as processes of their own, on the database and the node of a test.

    python -m tests.settlements.processes die-written|die-intended|die-sent
    python -m tests.settlements.processes settle NAME COUNT

The first empties what is due and kills itself at the named moment. The second settles COUNT references that begin with
NAME, each up to its receipt, and prints one line for each: the number that it got, and whether it succeeded.
"""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from tests.database import own_database
from tests.tree import ROOT
from tests.waiting import PATIENCE_SECONDS

THREADS = 4
RECEIPT_SECONDS = PATIENCE_SECONDS


def start(*arguments: str, chain: dict[str, str]) -> "subprocess.Popen[str]":
    """Start this program with settings by their names; its output is read from it."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.settlements.processes", *arguments],
        cwd=ROOT,
        env=_environment(chain),
        stdout=subprocess.PIPE,
        text=True,
    )


def _environment(chain: dict[str, str]) -> dict[str, str]:

    kept = {name: value for name, value in os.environ.items() if not name.startswith("CHAIN_")}
    return kept | {**own_database(), "FLORIN_ENV": "development", "CHAIN_NETWORK": "local", **chain}


def die(moment: str) -> None:
    """Empty what is due, and get no further than a moment."""
    from settlements.sweeps import service
    from settlements.tasks import sweep_due_task

    places = {"die-written": "find", "die-intended": "send_first", "die-sent": "send_first"}
    real = getattr(service, places[moment])

    def last_step(*given: object, **named: object) -> None:
        if moment == "die-sent":
            real(*given, **named)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(service, places[moment], last_step)
    sweep_due_task()


def settle(name: str, count: int) -> None:
    """Settle references, several at a time."""
    with ThreadPoolExecutor(THREADS) as pool:
        for line in pool.map(_settle, [f"{name}:{number}" for number in range(count)]):
            sys.stdout.write(f"{line}\n")


def _settle(reference: str) -> str:
    from django.db import connection
    from django.utils import timezone

    from settlements.gas.node import broadcast, gas_node
    from tests.settlements.calls import ask, await_receipt

    try:
        with gas_node("base") as node:
            made = ask(node, reference)
            broadcast(made, node=node, now=timezone.now())
            receipt = await_receipt(made, node=node, seconds=RECEIPT_SECONDS)
        return f"{made.nonce} {receipt.succeeded}"
    finally:
        connection.close()


def main() -> None:
    """Do what the command line says."""
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway.settings")
    django.setup()
    if sys.argv[1] == "settle":
        settle(sys.argv[2], int(sys.argv[3]))
    else:
        die(sys.argv[1])


if __name__ == "__main__":
    main()
