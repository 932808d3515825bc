"""The stack of `script/dev`: processes restart when their code changes, and pages are served with DEBUG."""

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Final

from gateway.core.embedded.processes import Command
from gateway.processes.stack import (
    ROOT,
    Stack,
    web_arguments,
)

DEBUG_SETTINGS: Final = "demo.debug.settings"
# Folders to watch. Not the whole tree: PostgreSQL's files under var/ change all the time.
NOT_WATCHED: Final = {"node_modules", "tests", "benchmarks", "docs", "static", "var"}
# Longer than a worker needs to finish its tasks.
END_SECONDS: Final = "20"


class DevStack(Stack):
    """The whole service on this machine's loopback, reloaded on change."""

    def start_services(self, *more: Command) -> None:
        """Start the services as `Stack` does, and the demo's own, all of them reloaded on change."""
        super().start_services(*map(restarted, more))

    def _celery(self) -> list[Command]:
        return [restarted(command) for command in super()._celery()]

    def _web(self) -> Command:
        # The toolbar keeps its measurements in the memory of one process.
        arguments = web_arguments(self.port, workers=1)
        command = restarted(self.command("web", sys.executable, *arguments))
        # Only web gets DEBUG: a worker that remembers each query would grow without end.
        environment = self.environment | {"DJANGO_SETTINGS_MODULE": DEBUG_SETTINGS}
        return replace(command, env=environment)

    def _streams(self) -> Command:
        return restarted(super()._streams())


def watched_folders(root: Path = ROOT) -> list[Path]:
    """Return the folders whose changes restart the processes."""
    return sorted(
        path
        for path in root.iterdir()
        if path.is_dir()
        and not path.name.startswith(".")
        and path.name not in NOT_WATCHED
    )


def restarted(command: Command) -> Command:
    """Return a command that runs `command`, and again whenever a file changes, even if it ended meanwhile."""
    line = shlex.join(str(part) for part in command.argv)
    watch = (sys.executable, "-m", "watchfiles", "--filter", "default")
    how = ("--target-type", "command", "--sigint-timeout", END_SECONDS)
    return replace(command, argv=(*watch, *how, line, *watched_folders()))
