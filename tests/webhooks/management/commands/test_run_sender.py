"""`manage.py run_sender` as a process of its own."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest
from django.conf import settings
from django.db import connection

from tests.factories import make_merchant
from tests.waiting import PATIENCE_SECONDS, wait_until
from tests.webhooks.factories import make_deliveries, make_endpoint
from tests.webhooks.receiver import Reply, receiving
from webhooks.models import Delivery, Endpoint

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.faults]

# A busy machine takes most of a minute to start a process; then it has to do what is waited for.
START_SECONDS = PATIENCE_SECONDS


@contextmanager
def sender_process(log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The command against the test's own database; killed at the end if it still runs."""
    name = connection.settings_dict["NAME"]
    url = urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{name}")
    environment = os.environ | {
        "FLORIN_ENV": "development",
        "DATABASE_URL": urlunsplit(url),
        "ENCRYPTION_KEYS": settings.ENCRYPTION_KEYS[0],
        "WEBHOOK_ALLOW_LOOPBACK": "true",
    }
    argv = [sys.executable, "manage.py", "run_sender", "--lease-seconds", "3"]
    with (
        log.open("ab") as output,
        subprocess.Popen(argv, cwd=settings.BASE_DIR, env=environment, stderr=output) as process,
    ):
        try:
            yield process
        finally:
            process.kill()


def delivered() -> int:
    return Delivery.objects.filter(status="delivered").count()


def test_it_delivers_and_ends_cleanly_when_told_to(tmp_path: Path) -> None:
    with receiving() as receiver, sender_process(tmp_path / "log") as process:
        make_deliveries(make_endpoint(make_merchant(), receiver.url), 10)
        wait_until(lambda: delivered() == 10, seconds=START_SECONDS)
        process.send_signal(signal.SIGTERM)
        assert process.wait(START_SECONDS) == 0
    assert Endpoint.objects.get().served_until is None
    log = (tmp_path / "log").read_text()
    assert "sender stopped" in log
    assert "whsec_" not in log


def test_killed_in_the_middle_of_a_post_nothing_is_lost(tmp_path: Path) -> None:
    release = threading.Event()
    with receiving() as receiver:
        receiver.reply = lambda _: Reply(200, release=release)
        make_deliveries(make_endpoint(make_merchant(), receiver.url), 5)
        with sender_process(tmp_path / "log") as process:
            wait_until(lambda: receiver.in_flight == 2, seconds=START_SECONDS)
            process.kill()
            process.wait(START_SECONDS)
        assert delivered() == 0
        release.set()
        with sender_process(tmp_path / "log"):
            wait_until(lambda: delivered() == 5, seconds=START_SECONDS)
    assert len(set(receiver.ids())) == 5
