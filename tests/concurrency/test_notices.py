"""Passes that tell at once, devices and chats that are added at once, and one that is removed while a note to it is published."""

from datetime import timedelta
from functools import partial

import pytest
from django.db import transaction

from accounts.models import Membership, Merchant
from gateway.core.api.errors import ConflictError
from mails.models import OutgoingMail
from notices.chats import MOST_CHATS
from notices.devices import MOST_DEVICES, remove_device
from notices.models import Chat, Device, Pass
from notices.states import Kind
from notices.telling import tell
from tests.checkouts.inboxes import extra_item
from tests.checkouts.watcher import SOON
from tests.concurrency.races import SECONDS, behind, crew, together, waiting_for_locks
from tests.concurrency.test_inbox import no_lock_on
from tests.dashboard.people import make_member
from tests.factories import NOON
from tests.notices.browsers import Browser, make_chat
from tests.waiting import wait_until
from webhooks.endpoints import targets
from webhooks.models import Delivery, Event
from webhooks.outbox.events import NewEvent, publish
from webhooks.states import NOTES

pytestmark = [pytest.mark.concurrency, pytest.mark.django_db(transaction=True)]

THEN = SOON + timedelta(seconds=20)
# Nobody gets past the writing of a secret, wherever they stand before it.
NO_NEW_SECRETS = "LOCK TABLE webhooks_signingsecret IN SHARE MODE"


def test_two_passes_at_once_tell_of_a_fact_once(merchant: Merchant, monkeypatch: pytest.MonkeyPatch) -> None:
    # Without the lock of the pass: the keys decide alone.
    no_lock_on(monkeypatch, Pass)
    Browser().added(make_member(merchant), merchant)
    tell(Kind.INBOX, now=NOON)
    for _ in range(3):
        extra_item(merchant=merchant)
    told = together(*[partial(tell, Kind.INBOX, now=THEN)] * 4)
    assert sum(told) == 6
    assert OutgoingMail.objects.filter(key__startswith="notice:").count() == 3
    assert Event.objects.filter(mode=NOTES).count() == 3


def added(work: object) -> bool:
    """Whether something that has a limit was taken."""
    assert callable(work)
    try:
        work()
    except ConflictError:
        return False
    return True


def devices_added_at_once(merchant: Merchant) -> tuple[list[bool], int]:
    """Whether each of two was taken where there is room for one, and how many there are then."""
    person = make_member(merchant)
    works = [
        partial(added, partial(Browser(f"https://fcm.googleapis.com/{number}").added, person, merchant))
        for number in range(MOST_DEVICES + 1)
    ]
    assert all(work() for work in works[: MOST_DEVICES - 1])
    taken = behind(NO_NEW_SECRETS, works=works[MOST_DEVICES - 1 :])
    return sorted(taken), Device.objects.count()


def test_two_devices_that_are_added_at_once_do_not_pass_the_limit(merchant: Merchant) -> None:
    assert devices_added_at_once(merchant) == ([False, True], MOST_DEVICES)


def test_without_the_lock_on_the_membership_they_would(merchant: Merchant, monkeypatch: pytest.MonkeyPatch) -> None:
    no_lock_on(monkeypatch, Membership)
    assert devices_added_at_once(merchant) == ([True, True], MOST_DEVICES + 1)


def chats_added_at_once(merchant: Merchant) -> tuple[list[bool], int]:
    """The same of chats."""
    person = make_member(merchant)
    works = [partial(added, partial(make_chat, merchant, person)) for _ in range(MOST_CHATS + 1)]
    assert all(work() for work in works[: MOST_CHATS - 1])
    taken = behind(NO_NEW_SECRETS, works=works[MOST_CHATS - 1 :])
    return sorted(taken), Chat.objects.count()


def test_two_chats_that_are_added_at_once_do_not_pass_the_limit(merchant: Merchant) -> None:
    assert chats_added_at_once(merchant) == ([False, True], MOST_CHATS)


def test_without_the_lock_on_the_merchant_too_many_chats_would_be_there(
    merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_lock_on(monkeypatch, Merchant)
    assert chats_added_at_once(merchant) == ([True, True], MOST_CHATS + 1)


def published_while_removed(merchant: Merchant) -> list[str]:
    """The deliveries, after a note was written, its device was removed, and the note was committed."""
    device = Browser().added(make_member(merchant), merchant)
    url = device.endpoint.url
    with crew(1) as threads:
        with transaction.atomic():
            publish(
                [NewEvent(merchant.pk, NOTES, "notice.test", device.public_id, "x", b"", url=url, body=b"{}")], now=NOON
            )
            removal = threads.start(partial(remove_device, device, now=THEN))
            wait_until(lambda: removal.done() or waiting_for_locks() == 1, seconds=SECONDS)
        removal.result(SECONDS)
    return list(Delivery.objects.values_list("status", flat=True))


def test_what_is_published_while_its_device_is_removed_is_cancelled(merchant: Merchant) -> None:
    assert published_while_removed(merchant) == ["cancelled"]


def test_without_the_lock_on_the_counter_it_would_wait_there(
    merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(targets, "lock_stream", lambda *_: None)
    assert published_while_removed(merchant) == ["pending"]
