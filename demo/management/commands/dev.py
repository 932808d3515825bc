"""`manage.py dev`: the demo for developing Florin.

Each process restarts when its code changes, and pages are served with DEBUG.
"""

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Final

from demo.management.commands.demo import Command as DemoCommand
from demo.management.commands.demo import DemoStack
from gateway.core.embedded.processes import ChildCommand as Program
from gateway.processes.stack import ROOT, web_arguments

DEBUG_SETTINGS: Final = "demo.debug.settings"
# Only source folders are watched: PostgreSQL's files under var/ change all the time.
NOT_WATCHED: Final = {"node_modules", "tests", "benchmarks", "docs", "static", "var"}
# Longer than a worker needs to finish its current tasks.
END_SECONDS: Final = "20"


class DevStack(DemoStack):
    """Everything on this machine's loopback, reloaded on change."""

    def start_services(self, *more: Program) -> None:
        """Start the services as `DemoStack` does, and the demo's other processes, all of them reloaded on change."""
        super().start_services(*map(restarted, more))

    def _celery(self) -> list[Program]:
        return [restarted(command) for command in super()._celery()]

    def _web(self) -> Program:
        # One process, because the toolbar stores its measurements in memory.
        arguments = web_arguments(self.port, workers=1)
        command = restarted(self.command("web", sys.executable, *arguments))
        # Only pages get DEBUG: with it, a worker would store every query and its memory would grow without limit.
        environment = self.environment | {"DJANGO_SETTINGS_MODULE": DEBUG_SETTINGS}
        return replace(command, env=environment)

    def _streams(self) -> Program:
        return restarted(super()._streams())


def watched_folders(root: Path = ROOT) -> list[Path]:
    """Return the folders whose changes restart the processes."""
    return sorted(
        path
        for path in root.iterdir()
        if path.is_dir() and not path.name.startswith(".") and path.name not in NOT_WATCHED
    )


def restarted(command: Program) -> Program:
    """Return a command that runs `command` and restarts it whenever a file changes, even if it had already ended."""
    line = shlex.join(str(part) for part in command.argv)
    watch = (sys.executable, "-m", "watchfiles", "--filter", "default")
    how = ("--target-type", "command", "--sigint-timeout", END_SECONDS)
    return replace(command, argv=(*watch, *how, line, *watched_folders()))


class Command(DemoCommand):
    """Runs the demo with reload, DEBUG pages and django-debug-toolbar."""

    help = "Run the demo with reload on change, DEBUG pages and the debug toolbar."
    stack = DevStack
