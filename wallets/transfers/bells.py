"""Wakes the consumers of changed transfers. The message may be lost: they also poll."""

import structlog
from celery import current_app
from django.conf import settings
from django.db import transaction

from gateway.core.broker import wake_task

log = structlog.get_logger(__name__)


def ring_after_commit() -> None:
    """Wake the consumers once the caller's transaction is committed, once per transaction."""
    waiting = transaction.get_connection().run_on_commit
    if all(callback is not ring_consumers for _, callback, _ in waiting):
        transaction.on_commit(ring_consumers, robust=True)


def ring_consumers() -> None:
    """Start the tasks in TRANSFER_CONSUMERS; without a broker, run them in this process."""
    for name in settings.TRANSFER_CONSUMERS:
        if not wake_task(name):
            _run_here(name)


def _run_here(name: str) -> None:
    if name not in current_app.tasks:
        # Workers import their tasks at start; other processes only when they need one.
        current_app.loader.import_default_modules()
    result = current_app.tasks[name].apply()
    if result.failed():
        log.error("consumer failed", task=name, error=type(result.result).__name__)
