"""`manage.py run_sender`: deliver webhooks until a signal stops it."""

import asyncio
import os
import resource
import secrets
import signal
import socket
from collections.abc import Callable
from datetime import timedelta
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import structlog
from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from webhooks.delivery.sender import LEASE, WebhookSender
from webhooks.delivery.transport import DEADLINE_SECONDS, Transport

log = structlog.get_logger(__name__)

# Two connections for each endpoint that may be served, and as many kept ones.
_FILES = 4_096


class Command(BaseCommand):
    """Runs one sender; any number may run in parallel, on any number of machines."""

    # The worker that starts this command has run the checks, which import every page.
    requires_system_checks: list[str] = []
    help = "Deliver webhooks until stopped (SIGTERM or Ctrl-C)."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the arguments: two durations that operators and fault tests may shorten."""
        parser.add_argument(
            "--lease-seconds",
            type=float,
            default=LEASE.total_seconds(),
            help="how long a crashed sender holds its endpoints before another takes them",
        )
        parser.add_argument(
            "--deadline-seconds", type=float, default=DEADLINE_SECONDS, help="the longest time for one POST"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the sender until a signal stops it."""
        _allow_open_files()
        lease = timedelta(seconds=options["lease_seconds"])
        work = _send(lease=lease, deadline_seconds=options["deadline_seconds"])
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(work)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    # uvloop, where installed, saves a third of a delivery's time.
    if find_spec("uvloop") is None:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = import_module("uvloop").new_event_loop
    return factory


def _allow_open_files() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < _FILES:
        wanted = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


async def _send(*, lease: timedelta, deadline_seconds: float) -> None:
    name = f"{socket.gethostname()[:20]}-{os.getpid()}-{secrets.token_hex(3)}"
    transport = Transport(
        user_agent=f"Florin-Webhooks/{settings.SERVICE_VERSION}",
        loopback_allowed=settings.WEBHOOK_ALLOW_LOOPBACK,
        deadline_seconds=deadline_seconds,
    )
    async with transport:
        sender = WebhookSender(transport, name=name, lease=lease)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, sender.stop)
        log.info("sender started", name=name)
        await sender.run()
        log.info("sender stopped", name=name)
