"""Senders for tests, run in threads of this process against real receivers."""

import asyncio
import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from tests.waiting import PATIENCE_SECONDS
from webhooks.delivery.sender import WebhookSender
from webhooks.delivery.transport import Transport

_number = itertools.count(1)


class RunningSender:
    """A sender in a thread, with an event loop of its own."""

    def __init__(self, *, deadline_seconds: float, lease: timedelta, **options: Any):
        # Shorter than in production, because rows that tests write themselves ring no bell.
        self._options = {"poll_seconds": 0.2} | options
        self._deadline_seconds = deadline_seconds
        self._lease = lease
        self._started = threading.Event()
        self.crash: BaseExceptionGroup[Exception] | None = None
        self._thread = threading.Thread(target=self._main)
        self._thread.start()
        assert self._started.wait(PATIENCE_SECONDS)

    def _main(self) -> None:
        try:
            asyncio.run(self._run())
        except* MemoryError as crash:
            self.crash = crash

    async def _run(self) -> None:
        transport = Transport(
            user_agent="Florin-Webhooks/test", loopback_allowed=True, deadline_seconds=self._deadline_seconds
        )
        async with transport:
            name = f"sender-{next(_number)}"
            self._loop = asyncio.get_running_loop()
            self._sender = WebhookSender(transport, name=name, lease=self._lease, **self._options)
            self._started.set()
            await self._sender.run()

    def ask_to_stop(self) -> None:
        """Ask it as SIGTERM would."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._sender.stop)

    def stop(self) -> None:
        """Ask it to stop and wait until it has."""
        self.ask_to_stop()
        self._thread.join(PATIENCE_SECONDS)
        assert not self._thread.is_alive()


@contextmanager
def sending(
    senders: int = 1, *, deadline_seconds: float = 30.0, lease: timedelta = timedelta(seconds=15), **options: Any
) -> Iterator[list[RunningSender]]:
    """Some senders side by side, stopped at the end."""
    running = [RunningSender(deadline_seconds=deadline_seconds, lease=lease, **options) for _ in range(senders)]
    try:
        yield running
    finally:
        for sender in running:
            sender.stop()
