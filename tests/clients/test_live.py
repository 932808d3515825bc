"""Each client, installed from its built package, sells and refunds at a real Florin, and takes the webhook that Florin's own sender signed."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from accounts.states import Mode
from checkouts.models import Checkout
from payouts.models import Payout
from tests.clients.packages import CLIENTS, LANGUAGES, Package, install, is_there, run
from tests.contract.client import client_of
from tests.waiting import wait_until
from tests.webhooks.factories import secrets_of
from tests.webhooks.receiver import Receiver, receiving
from tests.webhooks.senders import sending

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

ENDS = {"python": "py", "typescript": "mjs", "php": "php"}
PLAYED = {
    "same": True,
    "listed": True,
    "status": "completed",
    "refund": ["open", "5.000000"],
    "refused": [404, "resource_missing", True],
}


def program(package: Package, language: str) -> list[str]:
    """How a language runs its program for a live Florin. Node.js looks for packages beside a program."""
    source = CLIENTS / f"api-{language}" / "conformance" / f"live.{ENDS[language]}"
    beside = Path(package.command[1]).parent
    return [package.command[0], str(shutil.copy(source, beside) if language == "typescript" else source)]


def arrived(receiver: Receiver, folder: Path, secret: str) -> str:
    """The file of the webhook that arrived, as a language reads it."""
    (got,) = receiver.got
    told = {"body": got.body.decode(), "headers": dict(got.headers), "secret": secret}
    (folder / "webhook.json").write_text(json.dumps(told))
    return str(folder / "webhook.json")


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_client_sells_refunds_and_is_told(
    language: str, live_server: LiveServer, settings: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not is_there(language, capsys):
        return
    settings.WEBHOOK_ALLOW_LOOPBACK = True
    package, client = install(language, tmp_path), client_of(mode=Mode.TEST)
    assert client.key
    assert client.merchant
    command = program(package, language)
    with receiving() as receiver, sending():
        told = json.loads(
            run([*command, live_server.url, client.key, receiver.url], package.folder, package.environment)
        )
        wait_until(lambda: receiver.got)
    checkout = told.pop("checkout")
    assert told == PLAYED
    assert Checkout.objects.count() == 3
    assert Payout.objects.get().reference == "live-r-1"
    (secret,) = secrets_of(client.merchant, now=timezone.now())
    webhook = arrived(receiver, tmp_path, secret)
    assert run([*command, webhook], package.folder, package.environment) == checkout
