"""Two people who press "Send test event" at once."""

from functools import partial

import pytest

from accounts.audit.actors import Actor
from accounts.models import User
from tests.concurrency.races import behind
from tests.concurrency.test_inbox import no_lock_on
from tests.dashboard.people import make_member
from tests.factories import NOON, make_merchant
from tests.webhooks.factories import make_endpoint
from webhooks.endpoints.samples import send_sample
from webhooks.models import Delivery, Endpoint

pytestmark = [pytest.mark.concurrency, pytest.mark.django_db(transaction=True)]

# Nobody gets past the writing of an event, wherever they stand before it.
NO_NEW_EVENTS = "LOCK TABLE webhooks_event IN SHARE MODE"


def press(endpoint: Endpoint, actor: User) -> int:
    """Press the button; the delivery it leads to."""
    return send_sample(endpoint, now=NOON, actor=Actor(actor)).pk


def pressed_twice() -> tuple[int, int]:
    """What two presses at once lead to, and how many events were written."""
    merchant = make_merchant()
    endpoint, actor = make_endpoint(merchant), make_member(merchant)
    led_to = set(behind(NO_NEW_EVENTS, works=[partial(press, endpoint, actor) for _ in "ab"]))
    return len(led_to), Delivery.objects.filter(merchant=merchant).count()


def test_two_presses_at_once_send_one_test_event() -> None:
    assert pressed_twice() == (1, 1)


def test_without_the_lock_on_the_endpoint_there_would_be_two(monkeypatch: pytest.MonkeyPatch) -> None:
    no_lock_on(monkeypatch, Endpoint)
    assert pressed_twice() == (2, 2)
