"""`manage.py up`: run the whole service on this machine."""

import signal
from argparse import ArgumentParser
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from gateway.core.embedded import EnginesError
from gateway.processes.stack import MANAGE, Stack, StackError, until_signalled


class Command(BaseCommand):
    """Runs everything until Ctrl-C or SIGTERM, then stops what it started."""

    help = (
        "Run PostgreSQL and Valkey (unless DATABASE_URL and REDIS_URL name servers),"
        " migrate, then run web, streams, a worker (with chain watchers and webhook sender) and beat."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=8000)

    def handle(self, *args: Any, port: int, **options: Any) -> None:
        """Start everything, print the address, wait for the signal."""
        try:
            with until_signalled(), self._stack(port) as stack:
                self._start(stack)
                self._say(f"Florin answers at {stack.base_url}; Ctrl-C stops it.")
                signal.pause()
        except (EnginesError, StackError) as error:
            raise CommandError(str(error)) from error
        self._say("Stopped.")

    def _stack(self, port: int) -> Stack:
        return Stack(var=settings.VAR_DIR, port=port, say=self._say)

    def _start(self, stack: Stack) -> None:
        stack.start_engines()
        self._say("Bringing the database up to date.")
        stack.run("migrate", [*MANAGE, "migrate", "--noinput", "--skip-checks"])
        if settings.PRODUCTION:
            stack.run("collectstatic", [*MANAGE, "collectstatic", "--noinput"])
        stack.start_services()

    def _say(self, line: str) -> None:
        # The process reading our output may have ended; the service continues.
        with suppress(OSError):
            self.stdout.write(line)
            self.stdout.flush()
