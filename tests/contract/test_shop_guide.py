"""The shop of the guide to checkouts: it sends buyers to a checkout and believes only a verified webhook."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from checkouts.attribution.queue import attribute_transfers
from checkouts.models import Checkout
from checkouts.testmode import play_due_steps
from tests.contract.client import ApiClient
from tests.demo.running import two_free_ports
from tests.guides import RUNNERS, running, started
from tests.waiting import wait_until
from wallets.models import Transfer
from wallets.transfers.service import confirm_transfers, orphan_transfers, revive_transfers
from webhooks.models import Event
from webhooks.signatures import new_secret, sign

pytestmark = [pytest.mark.django_db(transaction=True)]

[SHOP] = running("docs/guide/checkouts.md", "ts")
WAITS = "Your order: waiting for the payment\n"


@dataclass(frozen=True)
class Shop:
    """The running shop. `secret` signs the webhooks that it accepts."""

    url: str
    secret: str

    def post_event(self, body: bytes, secret: str) -> int:
        """Send a webhook that a secret signed now; return the answer's status."""
        headers = sign(body, message_id="evt_1", timestamp=int(time.time()), secrets=[secret])
        url = f"{self.url}/hooks/florin"
        return httpx.post(url, content=body, headers=headers, timeout=30).status_code


@pytest.fixture
def shop(live_server: LiveServer, tester: ApiClient, tmp_path: Path, settings: Any) -> Iterator[Shop]:
    """The shop in Node.js, with a test key of this server."""
    # As in the demo.
    settings.WEBHOOK_ALLOW_LOOPBACK = True
    command, name = RUNNERS[SHOP.language]
    (tmp_path / name).write_text(SHOP.code)
    found = Shop(f"http://127.0.0.1:{two_free_ports()}", new_secret())
    environment = {
        "BASE_URL": live_server.url,
        "LIVE_KEY": tester.key or "",
        "WEBHOOK_SECRET": found.secret,
        "PORT": found.url.rpartition(":")[2],
    }
    with started([*command, name], tmp_path, environment) as output:
        wait_until(lambda: "The shop is at" in output.read_text())
        yield found


def test_the_shop_marks_an_order_paid_only_after_a_verified_webhook(shop: Shop, tester: ApiClient) -> None:
    answer = httpx.post(f"{shop.url}/buy", timeout=30)
    checkout = Checkout.objects.get()
    created = tester.get(f"/checkouts/{checkout.public_id}").body
    assert answer.status_code == 303
    assert answer.headers["Location"] == created["checkout_url"]
    play_due_steps(now=timezone.now() + timedelta(seconds=10))
    body = bytes(Event.objects.get(type="checkout.completed").body)
    assert httpx.get(checkout.redirect_url).text == WAITS
    assert shop.post_event(body, new_secret()) == 400
    live = body.replace(b'"livemode":false', b'"livemode":true')
    assert live != body
    assert shop.post_event(live, shop.secret) == 204
    assert httpx.get(checkout.redirect_url).text == WAITS
    assert shop.post_event(body, shop.secret) == 204
    assert httpx.get(checkout.redirect_url).text == "Your order: paid\n"
    transfers = list(Transfer.objects.values_list("pk", flat=True))
    for change, told in (
        (orphan_transfers, "on hold: the network took the payment back"),
        (revive_transfers, "on hold: the network took the payment back"),
        (confirm_transfers, "paid"),
    ):
        change(transfers, now=timezone.now())
        attribute_transfers(now=timezone.now())
        # Out of order: the oldest event comes last.
        for event in Event.objects.filter(subject_id=checkout.public_id).order_by("-sequence"):
            assert shop.post_event(bytes(event.body), shop.secret) == 204
        assert httpx.get(checkout.redirect_url).text == f"Your order: {told}\n"


def test_late_money_that_completes_another_checkout_pays_the_same_order(shop: Shop) -> None:
    httpx.post(f"{shop.url}/buy", timeout=30)
    checkout = Checkout.objects.get()
    play_due_steps(now=timezone.now() + timedelta(seconds=10))
    told = json.loads(bytes(Event.objects.get(type="checkout.completed").body))
    # What a checkout tells that completes with late money: its own id, and the expired one's references.
    told["checkout_id"] = told["data"]["id"] = "chk_test_successor"
    told["data"]["replaces"] = checkout.public_id
    assert shop.post_event(json.dumps(told).encode(), shop.secret) == 204
    assert httpx.get(checkout.redirect_url).text == "Your order: paid\n"


def test_the_shop_does_not_start_without_a_secret(tmp_path: Path) -> None:
    command, name = RUNNERS[SHOP.language]
    (tmp_path / name).write_text(SHOP.code)
    environment = {"BASE_URL": "http://127.0.0.1:9", "LIVE_KEY": "a key", "WEBHOOK_SECRET": ""}
    with started([*command, name], tmp_path, environment) as output:
        wait_until(lambda: "Set BASE_URL, LIVE_KEY and WEBHOOK_SECRET." in output.read_text())
        assert "The shop is at" not in output.read_text()
