"""A process that has imported the product, and forks into each process of an installation: importing takes seconds.

Reads one JSON order per line from standard input, and answers each with a line of JSON: see `tests.florin`.
"""

import ctypes
import faulthandler
import gc
import json
import os
import runpy
import signal
import sys
import threading
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import django
from django.conf import settings

from gateway.core.embedded.processes import PR_SET_PDEATHSIG

# What commands import once they run.
_MODULES = (
    "wallets.management.commands.run_watchers",
    "webhooks.management.commands.run_sender",
    "celery.bin.celery",
    "celery.apps.beat",
    "celery.apps.worker",
    "celery.concurrency.prefork",
)
_LIBC = ctypes.CDLL(None)


def warm_up() -> None:
    """Import what the processes of an installation need, and connect to nothing."""
    django.setup()
    import_module(settings.ROOT_URLCONF)
    for name in _MODULES:
        import_module(name)
    import_module("gateway.celery").app.loader.import_default_modules()
    # A fork has one thread, and only what no other one held is whole in it.
    assert threading.active_count() == 1
    gc.freeze()


def serve() -> list[str]:
    """Start processes until standard input ends. Returns empty then, and in each new process what that is to run."""
    for line in sys.stdin:
        order = json.loads(line)
        if order["do"] == "poll":
            _answer(_status(order["pid"]))
        elif os.fork() == 0:
            _begin(order["log"], name=order["name"])
            argv: list[str] = order["argv"]
            return argv
    return []


def _answer(answer: Any) -> None:
    sys.stdout.write(json.dumps({"answer": answer}) + "\n")
    sys.stdout.flush()


def _status(pid: int) -> int | None:
    """What a process ended with, negative for a signal; None while it runs. To be asked once after its end."""
    ended, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if ended else None


def _begin(log: str, *, name: str) -> None:
    """Become a process of its own, which dies with the nursery and is known to PostgreSQL by its name."""
    os.setsid()
    _LIBC.prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM))
    _answer(os.getpid())
    output = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    # `Child.wait` asks a process that does not end where it is.
    faulthandler.register(signal.SIGUSR1, file=2, all_threads=True)
    os.environ["PGAPPNAME"] = name


def run(argv: Sequence[str]) -> None:
    """Run a program as the interpreter does that is named first: `-m MODULE` or a file, and what it is given."""
    if argv[1] == "-m":
        sys.argv = list(argv[2:])
        runpy.run_module(argv[2], run_name="__main__", alter_sys=True)
    else:
        sys.argv = list(argv[1:])
        runpy.run_path(argv[1], run_name="__main__")


if __name__ == "__main__":
    warm_up()
    if program := serve():
        run(program)
