"""Streams of a real server: who is told what and when."""

import socket
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from statistics import median

import pytest
from django.db import transaction
from django.utils import timezone

from accounts.audit.actors import Actor
from accounts.states import Mode
from checkouts.attribution.queue import attribute_transfers
from checkouts.inbox.acceptances import accept_as_paid, apply_acceptances
from checkouts.inbox.service import apply_decisions, decide_item
from checkouts.inbox.undo import UNDO_SPAN
from checkouts.lifecycle.bells import ring_pages
from checkouts.lifecycle.moves import expire
from checkouts.models import Checkout, InboxItem
from checkouts.reservations import choose_exact_amount
from checkouts.states import CheckoutException, CheckoutStatus, InboxAct
from tests.checkouts.factories import (
    ADDRESS,
    HEAD,
    make_completed,
    make_exact_checkout,
    make_page_checkout,
    make_seen,
    move,
)
from tests.checkouts.page.streaming.servers import Reader, StreamServer, stream_server
from tests.factories import make_transfer, make_user
from tests.ownvalkey import OwnValkey
from wallets.models import ChainCursor
from wallets.states import TransferState

# Their server takes seconds to start: one worker starts it for all of these tests.
pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.xdist_group("streams")]

# The median of three: the machine may stand still during one. The sweep finds two of three as soon in one case of five.
AT_ONCE = 3.0


@pytest.fixture
def own_valkey(homes: Path) -> Iterator[OwnValkey]:
    """A Valkey that a test may stop."""
    valkey = OwnValkey(homes)
    valkey.start()
    yield valkey
    valkey.stop()


def pay(checkout: Checkout) -> None:
    """Let the money come, and be credited by the services."""
    now = timezone.now()
    make_transfer(checkout, 49_000_000, block_time=now, recipient=ADDRESS)
    attribute_transfers(now=now)


def test_a_payment_is_told_at_once_to_each_page_of_its_checkout_and_to_no_other(streams: StreamServer) -> None:
    other, took = make_page_checkout(), []
    with streams.read(other.code) as bystander:
        for _ in range(3):
            paid = make_page_checkout()
            with streams.read(paid.code) as one, streams.read(paid.code) as two:
                for reader in (one, two, bystander):
                    reader.await_statuses("pending")
                pay(paid)
                began = time.monotonic()
                for reader in (one, two):
                    reader.await_statuses("pending", "processing")
                took.append(time.monotonic() - began)
        assert bystander.statuses == ["pending"]
    assert median(took) < AT_ONCE


def test_a_reserved_amount_is_told_for_another_tab_shows_it_too(streams: StreamServer) -> None:
    took = []
    for _ in range(3):
        checkout = make_exact_checkout()
        with streams.read(checkout.code) as reader:
            reader.await_statuses("pending")
            choose_exact_amount(checkout.pk, now=timezone.now())
            began = time.monotonic()
            reader.await_statuses("pending", "pending")
            took.append(time.monotonic() - began)
    assert median(took) < AT_ONCE


def test_confirmations_are_told_as_blocks_come_though_no_block_rings(streams: StreamServer) -> None:
    took = []
    for _ in range(3):
        with streams.read(make_seen().code) as reader:
            reader.await_statuses("processing")
            ChainCursor.objects.filter(chain="base").update(head=HEAD + 1)
            began = time.monotonic()
            reader.await_statuses("processing", "processing")
            took.append(time.monotonic() - began)
    assert median(took) < AT_ONCE


def test_a_change_whose_bell_was_missed_is_found_by_the_sweep(streams: StreamServer) -> None:
    checkout = make_page_checkout()
    with streams.read(checkout.code) as reader:
        reader.await_statuses("pending")
        move(checkout, CheckoutStatus.UNDERPAID)
        reader.await_statuses("pending", "underpaid")


def test_an_expired_page_is_told_of_late_money_at_once_and_of_what_becomes_of_it(streams: StreamServer) -> None:
    checkout = make_page_checkout()
    with streams.read(checkout.code) as reader:
        reader.await_statuses("pending")
        move(checkout, CheckoutStatus.EXPIRED)
        with transaction.atomic():
            ring_pages([checkout.pk])
        reader.await_statuses("pending", "expired")
        began = time.monotonic()
        pay(checkout)
        reader.await_statuses("pending", "expired", "expired")
        assert time.monotonic() - began < AT_ONCE
        item = InboxItem.objects.get()
        decided_at = timezone.now()
        decide_item(item, act=InboxAct.DISMISS, actor=Actor(make_user()), now=decided_at)
        apply_decisions(now=decided_at + UNDO_SPAN)
        reader.await_statuses("pending", *["expired"] * 3)
        assert not reader.is_ended


def test_an_expired_page_is_told_at_once_that_its_short_money_was_accepted(streams: StreamServer) -> None:
    took = []
    for _ in range(3):
        checkout = make_page_checkout()
        make_transfer(
            checkout, 20_000_000, recipient=ADDRESS, state=TransferState.CONFIRMED, confirmed_at=timezone.now()
        )
        attribute_transfers(now=timezone.now())
        with transaction.atomic():
            expire(list(Checkout.objects.locked().filter(pk=checkout.pk)), now=timezone.now())
        with streams.read(checkout.code) as reader:
            reader.await_statuses("expired")
            decided_at = timezone.now()
            accept_as_paid(checkout, amount=Decimal(20), actor=Actor(make_user()), now=decided_at)
            assert apply_acceptances(now=decided_at + UNDO_SPAN) == 1
            began = time.monotonic()
            reader.await_statuses("expired", "expired")
            took.append(time.monotonic() - began)
    assert median(took) < AT_ONCE


def test_a_paid_page_is_told_of_a_reversal_of_the_return_and_of_doubt(streams: StreamServer) -> None:
    checkout = make_completed()
    with streams.read(checkout.code) as reader:
        reader.await_statuses("completed")
        for number, exception in enumerate((CheckoutException.REVERSED, CheckoutException.NONE), start=2):
            move(checkout, CheckoutStatus.COMPLETED, exception=exception)
            with transaction.atomic():
                ring_pages([checkout.pk])
            reader.await_statuses(*["completed"] * number)
        # No checkout moves then: the sweep finds it.
        ChainCursor.objects.filter(chain="base").update(halted_reason="a deep fork", doubted_above=0)
        reader.await_statuses(*["completed"] * 4)
        assert not reader.is_ended


def test_what_is_rolled_back_does_not_ring(streams: StreamServer) -> None:
    checkout, control = make_page_checkout(), make_page_checkout()
    with streams.read(checkout.code) as reader, streams.read(control.code) as other:
        reader.await_statuses("pending")
        other.await_statuses("pending")
        with transaction.atomic():
            ring_pages([checkout.pk])
            Checkout.objects.filter(pk=checkout.pk).update(status="underpaid")
            transaction.set_rollback(True)
        with transaction.atomic():
            ring_pages([checkout.pk, control.pk])
            Checkout.objects.filter(pk=control.pk).update(status="underpaid")
        other.await_statuses("pending", "underpaid")
        assert reader.statuses == ["pending"]


@pytest.mark.faults
def test_without_valkey_streams_open_and_tell(
    transactional_db: None, tmp_path_factory: pytest.TempPathFactory, own_valkey: OwnValkey
) -> None:
    checkout = make_page_checkout(mode=Mode.TEST)
    folder = tmp_path_factory.mktemp("streams")
    with stream_server(folder, REDIS_URL=own_valkey.url) as server:
        own_valkey.stop()
        with server.read(checkout.code) as reader:
            reader.await_statuses("pending")
            follow_a_move(checkout, reader)
            own_valkey.start()
            follow_a_move(checkout, reader)


def follow_a_move(checkout: Checkout, reader: Reader) -> None:
    """Move a checkout between two live statuses, and wait until that is told."""
    before = reader.statuses
    after = "underpaid" if before[-1] == "pending" else "pending"
    move(checkout, CheckoutStatus(after))
    ring_pages([checkout.pk])
    reader.await_statuses(*before, after)


def test_a_stream_server_speaks_http_1_only_and_waits_ten_seconds_for_headers(streams: StreamServer) -> None:
    with socket.create_connection(("127.0.0.1", streams.port), timeout=30) as slow:
        slow.sendall(b"GET /c/abc/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        with socket.create_connection(("127.0.0.1", streams.port), timeout=5) as two:
            two.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00")
            # HTTP/2 would answer with a frame.
            assert two.recv(1024) == b""
        began = time.monotonic()
        while slow.recv(1024):
            pass
        assert 5 < time.monotonic() - began < 20
