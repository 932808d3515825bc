"""The processes that a Celery worker runs beside its tasks: the chain watchers and the webhook sender.

They take their work from PostgreSQL under leases. So they continue while the broker is down, and any number of workers on
any number of machines share the work.
"""

import os
import signal
import sys
from collections.abc import Collection
from typing import Any, Final

import click
import structlog
from celery import bootsteps
from django.conf import settings

from gateway.core.embedded.processes import ChildCommand, Keeper

log = structlog.get_logger(__name__)

TASKS: Final = "tasks"
_COMMANDS: Final = {"watch": "run_watchers", "send": "run_sender"}
ROLES: Final = (*_COMMANDS, TASKS)


def _parse_roles(context: click.Context, option: click.Parameter, text: str) -> Collection[str]:
    del context, option
    wanted = [role.strip() for role in text.split(",")]
    if unknown := sorted(set(wanted) - set(ROLES)):
        raise click.BadParameter(f"there is no {unknown[0]!r}; choose among {', '.join(ROLES)}.")
    return wanted


ROLES_OPTION: Final = click.Option(
    ("--roles",),
    default=",".join(ROLES),
    show_default=True,
    callback=_parse_roles,
    help="What this worker takes: watch reads the chains, send delivers webhooks, tasks is all that Celery carries.",
)


class Loops(bootsteps.StartStopStep):  # type: ignore[misc]  # Celery has no types
    """Starts the loops with the worker, restarts them, and stops them with the worker.

    They are killed together with the worker. Their leases then expire, and other workers take over.
    """

    # Its processes are forked before any thread exists.
    requires = ("celery.worker.components:Pool",)

    def __init__(self, parent: Any, roles: Collection[str] = ROLES, **options: Any) -> None:
        super().__init__(parent, **options)
        if TASKS not in roles:
            queues = parent.app.amqp.queues
            queues.deselect(list(queues))
        self._loops = [_command(role) for role in _COMMANDS if role in roles]
        self._keeper = Keeper(self._loops, told=log.warning)

    def include_if(self, parent: Any) -> bool:
        """Return whether there is anything to start."""
        return bool(self._loops)

    def start(self, parent: Any) -> None:
        """Start them; returns at once."""
        self._keeper.start()

    def stop(self, parent: Any) -> None:
        """End them, and wait for them."""
        self._keeper.stop()

    terminate = stop


def _command(role: str) -> ChildCommand:
    return ChildCommand(
        name=_COMMANDS[role],
        argv=(sys.executable, settings.BASE_DIR / "manage.py", _COMMANDS[role]),
        log=None,
        cwd=settings.BASE_DIR,
        env=os.environ,
        orphan_signal=signal.SIGKILL,
    )
