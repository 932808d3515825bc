"""The sender brings notices to a real push service and chat of this machine; dead addresses end, and secrets stay secret."""

from datetime import timedelta
from typing import Any

import orjson
import pytest
from django.test import Client
from django.utils import timezone

from accounts.audit.actors import Actor
from accounts.models import Merchant
from gateway.core.secrets import unseal
from notices.chats import mute_chat_url, remove_chat, try_chat
from notices.choices import devices_of
from notices.devices import LOST_SHOWN, end_lost, remove_device
from notices.models import Chat, Choice, Device
from notices.states import How, Kind, Way
from notices.telling import tell
from tests.checkouts.watcher import pay
from tests.dashboard.people import make_member
from tests.factories import make_checkout
from tests.notices.browsers import Browser, make_chat
from tests.payouts.factories import make_payout
from tests.waiting import wait_until
from tests.webhooks.receiver import Receiver, Reply
from tests.webhooks.senders import sending
from webhooks.endpoints.targets import Target, target_of
from webhooks.health import GONE
from webhooks.models import Attempt, Delivery, Endpoint, Event, SigningSecret
from webhooks.outbox.events import NewEvent, publish
from webhooks.signatures import sign
from webhooks.states import NOTES, DeliveryStatus

pytestmark = pytest.mark.django_db(transaction=True)


def pay_and_tell(merchant: Merchant) -> None:
    """A payment that was told of."""
    now = timezone.now()
    tell(Kind.PAYMENT, now=now - timedelta(days=1))
    checkout = make_checkout(merchant, order_ref="A-17")
    pay(checkout)
    Event.objects.filter(type="checkout.completed").update(created_at=now)
    assert tell(Kind.PAYMENT, now=now) == 1


def test_a_push_service_gets_what_only_the_browser_reads(
    merchant: Merchant, receiver: Receiver, client: Client
) -> None:
    browser = Browser(receiver.url)
    browser.added(make_member(merchant), merchant)
    with sending():
        pay_and_tell(merchant)
        wait_until(lambda: receiver.has_got(1))
        wait_until(lambda: Delivery.objects.filter(mode=NOTES, status=DeliveryStatus.DELIVERED).exists())
    [got] = receiver.got
    read = browser.reads_request(got, at=timezone.now())
    assert read["note"]["title"] == "25.00 USD received"
    assert read["note"]["text"] == "Order A-17 of 25.00 USD is paid."
    assert f"/dashboard/{merchant.public_id}/live/checkouts/" in read["note"]["url"]
    # One tap on the notice stops its kind, on this person's devices alone.
    assert client.post(read["note"]["mute"]["path"]).status_code == 200
    choice = Choice.objects.get()
    assert (choice.kind, choice.way, choice.how) == (Kind.PAYMENT, Way.PUSH, How.NEVER)
    assert got.headers["Urgency"] == "high"
    assert got.headers["Content-Encoding"] == "aes128gcm"
    assert int(got.headers["TTL"]) > 0
    assert "X-Service-Signature" not in got.headers
    # Nobody who reads attempts can send in our name.
    assert "Authorization" not in Attempt.objects.get().request_headers


def test_what_can_wait_wakes_no_device(merchant: Merchant, receiver: Receiver) -> None:
    Browser(receiver.url).added(make_member(merchant), merchant)
    now = timezone.now()
    tell(Kind.REFUND, now=now - timedelta(days=1))
    payout = make_payout(merchant)
    type(payout).objects.filter(pk=payout.pk).update(addressed_at=now)
    with sending():
        tell(Kind.REFUND, now=now)
        wait_until(lambda: receiver.has_got(1))
    assert receiver.got[0].headers["Urgency"] == "normal"


@pytest.mark.parametrize("status", [404, 410])
def test_a_subscription_that_its_service_forgot_is_sent_nothing_more_and_its_person_sees_that(
    merchant: Merchant, receiver: Receiver, status: int
) -> None:
    device = Browser(receiver.url).added(make_member(merchant), merchant)
    receiver.reply = lambda _got: Reply(status)
    with sending():
        pay_and_tell(merchant)
        wait_until(lambda: Endpoint.objects.filter(pk=device.endpoint_id, disabled_at__isnull=False).exists())
    now = timezone.now()
    assert end_lost(now=now) == 0
    assert Device.objects.get().endpoint.disabled_reason == GONE
    assert not devices_of([merchant.pk])
    assert end_lost(now=now + LOST_SHOWN) == 1
    assert not Device.objects.exists()
    assert not SigningSecret.objects.filter(endpoint=device.endpoint_id).exists()


def test_a_chat_gets_its_services_form_and_a_404_is_a_failure_like_others(
    merchant: Merchant, receiver: Receiver
) -> None:
    chat = make_chat(merchant, make_member(merchant), receiver.url)
    receiver.reply = lambda _got: Reply(404 if len(receiver.got) == 1 else 200)
    with sending():
        pay_and_tell(merchant)
        wait_until(lambda: receiver.has_got(1))
        wait_until(lambda: Attempt.objects.count() == 1)
    assert Chat.objects.filter(endpoint__disabled_at=None, pk=chat.pk).exists()
    body = orjson.loads(receiver.got[0].body)
    assert body["text"].startswith("25.00 USD received\nOrder A-17 of 25.00 USD is paid.\n")
    assert body["text"].endswith(f"\nMute payments in this chat: {mute_chat_url(chat, Kind.PAYMENT)}")


def test_the_real_address_is_stored_nowhere_but_sealed(merchant: Merchant, receiver: Receiver) -> None:
    chat = make_chat(merchant, make_member(merchant), f"{receiver.url}/T00/B00/secretsecret")
    assert chat.endpoint.url == f"http://127.0.0.1:{receiver.port}/#{chat.public_id}"
    sealed = bytes(SigningSecret.objects.get(endpoint=chat.endpoint).sealed)
    assert b"secretsecret" not in sealed
    assert target_of([unseal(sealed)]).url.endswith("secretsecret")
    try_chat(chat, now=timezone.now())
    with sending():
        wait_until(lambda: Attempt.objects.filter(status_code=200).exists())
    assert receiver.got[0].path.endswith("/secretsecret")
    [attempt] = Attempt.objects.all()
    told = [attempt.request_headers, attempt.response_headers, attempt.response_body, attempt.error]
    assert "secretsecret" not in str(told)


def test_what_waits_for_a_removed_chat_or_device_is_cancelled(merchant: Merchant, receiver: Receiver) -> None:
    now = timezone.now()
    chat = make_chat(merchant, make_member(merchant), receiver.url)
    device = Browser(receiver.url).added(make_member(merchant), merchant)
    try_chat(chat, now=now)
    publish(
        [NewEvent(merchant.pk, NOTES, "notice.test", device.public_id, "x", b"", url=device.endpoint.url, body=b"{}")],
        now=now,
    )
    remove_chat(chat, actor=Actor(make_member(merchant)), now=now)
    remove_device(device, now=now)
    assert set(Delivery.objects.filter(mode=NOTES).values_list("status", flat=True)) == {DeliveryStatus.CANCELLED}
    assert not SigningSecret.objects.filter(endpoint__mode=NOTES).exists()


def test_a_target_looks_like_a_signing_secret_to_the_release_before() -> None:
    target = Target("https://hooks.slack.com/x", fields=(("chat_id", "7"),))
    assert sign(b"{}", message_id="evt", timestamp=0, secrets=[target.as_secret()])
    assert Target.of_secret(target.as_secret()) == target


def test_a_target_that_cannot_be_read_fails_alone(merchant: Merchant, receiver: Receiver, settings: Any) -> None:
    chat = make_chat(merchant, make_member(merchant), receiver.url)
    SigningSecret.objects.filter(endpoint=chat.endpoint).delete()
    publish(
        [NewEvent(merchant.pk, NOTES, "notice.test", chat.public_id, "x", b"", url=chat.endpoint.url, body=b"{}")],
        now=timezone.now(),
    )
    with sending():
        wait_until(lambda: Attempt.objects.filter(error="internal").exists())
    assert receiver.got == []
