"""Whatever a sender is doing when it is killed or frozen, another one goes on and every event arrives."""

import random
import threading
from functools import partial

import pytest

from tests.exhaustive import sample
from tests.faults.oracle import await_order, settle
from tests.installation import Installation
from tests.waiting import comes_true, wait_until
from tests.webhooks.receiver import Got, Reply
from webhooks.delivery.formats import LANES

pytestmark = [pytest.mark.faults, pytest.mark.slow, pytest.mark.xdist_group("faults")]

EVENTS = 8


class Blocking:
    """Answers some requests, and lets all later ones wait."""

    def __init__(self, *, after: int) -> None:
        self.released = threading.Event()
        self._left = after
        self._lock = threading.Lock()

    def __call__(self, _got: Got) -> Reply:
        with self._lock:
            self._left -= 1
            if self._left >= 0:
                return Reply()
        return Reply(release=self.released)


@pytest.fixture
def second(installation: Installation) -> str:
    """A second sender, at work beside the first."""
    second = installation.start("sender")
    started = installation.database.now()
    wait_until(lambda: installation.database.has_asked_since(second, started))
    return second


def earn_events(installation: Installation) -> None:
    """Let some checkouts be paid, and their events be written."""
    installation.pay_all(installation.create_checkouts(EVENTS))
    installation.finalize()


def caught_in_a_request(installation: Installation, seed: int) -> tuple[str, Blocking]:
    """The sender whose lanes all wait for answers, with more to send, and what they wait for."""
    blocking = Blocking(after=random.Random(seed).randrange(EVENTS - LANES))
    installation.receiver.reply = blocking
    earn_events(installation)
    wait_until(lambda: installation.receiver.in_flight == LANES)
    # Its lease may have run out on a busy machine, until it is renewed.
    names: list[str] = []

    def is_served() -> bool:
        names.append(installation.sender_of_webhooks())
        return bool(names[-1])

    wait_until(is_served)
    return names[-1], blocking


def caught_recording(installation: Installation) -> str:
    """The sender that cannot write down what it sent. To be called while nobody can write to the attempts."""
    earn_events(installation)
    wait_until(lambda: held_up_sender(installation))
    return held_up_sender(installation)


def held_up_sender(installation: Installation) -> str:
    senders = installation.running("sender")
    return next((name for name in senders if installation.database.is_held_up(name)), "")


@pytest.mark.usefixtures("second")
@pytest.mark.parametrize("seed", sample([1, 2, 3], 1))
def test_a_sender_killed_in_the_middle_of_a_request_is_replaced(installation: Installation, seed: int) -> None:
    sender, blocking = caught_in_a_request(installation, seed)
    installation.kill(sender)
    blocking.released.set()
    settle(installation)


@pytest.mark.usefixtures("second")
@pytest.mark.parametrize("seed", sample([4, 5], 1))
def test_a_sender_frozen_past_its_lease_sends_nothing_that_another_one_sent(
    installation: Installation, seed: int
) -> None:
    sender, blocking = caught_in_a_request(installation, seed)
    installation.freeze(sender)
    blocking.released.set()
    settle(installation)
    arrived, woken_at = installation.receiver.ids(), installation.database.now()
    installation.thaw(sender)
    wait_until(lambda: installation.database.has_asked_since(sender, woken_at))
    await_order(installation, seconds=5)
    assert installation.receiver.ids() == arrived


@pytest.mark.usefixtures("second")
def test_what_a_killed_sender_sent_and_did_not_record_is_sent_again(installation: Installation) -> None:
    with installation.database.holding_up_writes("webhooks_attempt"):
        installation.kill(caught_recording(installation))
        unrecorded = set(installation.receiver.ids())
    settle(installation)
    assert any(installation.receiver.ids().count(event) > 1 for event in unrecorded)


@pytest.mark.usefixtures("second")
def test_a_sender_frozen_while_it_records_keeps_nobody_waiting_for_its_locks(installation: Installation) -> None:
    sender = frozen_in_a_transaction(installation)
    settle(installation)
    woken_at = installation.database.now()
    installation.thaw(sender)
    wait_until(lambda: installation.database.has_asked_since(sender, woken_at))
    await_order(installation, seconds=5)


def frozen_in_a_transaction(installation: Installation) -> str:
    """Freeze a sender so that a transaction of its own stays open; return its name.

    Now and then it is caught right before its transaction begins or after it has ended, and is let go again.
    """
    for _ in range(5):
        with installation.database.holding_up_writes("webhooks_attempt"):
            sender = caught_recording(installation)
            installation.freeze(sender)
        is_open = partial(installation.database.is_in_transaction, sender)
        if comes_true(is_open, seconds=3):
            return sender
        installation.thaw(sender)
        settle(installation)
    raise AssertionError("never caught with a transaction open")
