"""Many clicks at once on "find it"."""

import secrets
import threading
from collections import Counter
from collections.abc import Sequence
from functools import partial

import pytest
from django.utils import timezone

from checkouts.models import BuyerReport, Checkout
from checkouts.rescue import service
from gateway.core.api.errors import RateLimitError
from tests.checkouts.factories import make_test_checkout
from tests.concurrency.races import SECONDS, crew

pytestmark = [pytest.mark.concurrency, pytest.mark.django_db(transaction=True)]

CLICKS = 8
ROOM = 3


@pytest.fixture(autouse=True)
def _little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "MOST_REPORTS", ROOM)


def hashes() -> list[str]:
    return [f"0x{secrets.token_hex(32)}" for _ in range(CLICKS)]


def look(checkout: Checkout, tx_hash: str) -> str:
    """The hash that was filed, or that there was no room."""
    try:
        return service.look_into(checkout, tx_hash, now=timezone.now()).tx_hash
    except RateLimitError:
        return "full"


def click(checkout: Checkout, asked: Sequence[str]) -> list[str]:
    """What came of asking for all of them at the same moment."""
    with crew() as threads:
        got: list[str] = threads.together(*(partial(look, checkout, h) for h in asked))
        return got


def test_a_double_click_files_one_report() -> None:
    checkout = make_test_checkout()
    tx_hash = hashes()[0]
    assert click(checkout, [tx_hash] * CLICKS) == [tx_hash] * CLICKS
    assert BuyerReport.objects.get().tx_hash == tx_hash


def test_a_checkout_never_has_more_reports_than_there_is_room_for() -> None:
    got = Counter(click(make_test_checkout(), hashes()))
    assert got["full"] == CLICKS - ROOM
    assert BuyerReport.objects.count() == ROOM


def test_without_the_lock_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = threading.Barrier(CLICKS)
    check = service._check_room

    def check_together(checkout: Checkout) -> None:
        check(checkout)
        counted.wait(SECONDS)

    monkeypatch.setattr(service, "_lock", lambda _: None)
    monkeypatch.setattr(service, "_check_room", check_together)
    assert "full" not in click(make_test_checkout(), hashes())
    assert BuyerReport.objects.count() == CLICKS
