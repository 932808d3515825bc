"""A device with a PIN asks for it after five idle minutes, and does nothing before; a sale that is open goes on."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.audit.actors import SYSTEM
from accounts.login.guard import LOCKED_FOR, MOST_FAILURES
from accounts.models import AuditEntry, Guesses, Merchant
from accounts.states import Mode
from checkouts.models import Checkout, Terminal, TerminalSale
from checkouts.till.pairing import IDLE, TerminalValues, add_terminal, change_terminal, is_locked, note_act, unlock
from tests.checkouts.till.terminals import VALUES, Device, make_terminal, paired_device
from tests.checkouts.till.test_views import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("chains_are_well")]


def with_pin(pin: str | None) -> TerminalValues:
    """The usual choices, and a PIN."""
    return TerminalValues(
        name=VALUES.name,
        tips=VALUES.tips,
        chain=VALUES.chain,
        has_sign=VALUES.has_sign,
        shows_day=VALUES.shows_day,
        pin=pin,
    )


@pytest.fixture
def device(merchant: Merchant) -> Device:
    """A phone that was paired a moment ago with a terminal that has the PIN 2468."""
    added = add_terminal(merchant, Mode.TEST, with_pin("2468"), actor=SYSTEM, now=timezone.now())
    return paired_device(added)


def leave(device: Device, *, minutes: float = 6) -> None:
    """Let nobody touch the device for some minutes."""
    at = timezone.now() - timedelta(minutes=minutes)
    Terminal.objects.filter(pk=device.terminal.pk).update(active_at=at)


def test_a_device_in_use_is_asked_for_nothing(device: Device) -> None:
    leave(device, minutes=4.5)
    assert device.get("till").status_code == 200
    # It was in use just now.
    active_at = Terminal.objects.get().active_at
    assert active_at
    assert active_at > timezone.now() - timedelta(seconds=30)
    assert device.charge().status_code == 303


def test_an_idle_device_shows_nothing_and_sells_nothing(device: Device) -> None:
    where = {"checkout_id": device.sale().checkout.public_id}
    leave(device)
    answers = [
        device.get("till"),
        device.get("till_sales"),
        device.get("till_day"),
        device.get("till_sale", **where),
        device.charge("5.00"),
        device.post("till_cancel", **where),
        device.post("till_mail", {"email": "ann@shop.example"}, **where),
    ]
    assert [answer.status_code for answer in answers] == [403] * len(answers)
    for answer in answers:
        assert "Enter the PIN" in text_of(answer)
        assert where["checkout_id"] not in text_of(answer)
    assert TerminalSale.objects.count() == 1
    assert Checkout.objects.get().cancelled_at is None
    # Looking does not bring it back.
    assert is_locked(Terminal.objects.get(), now=timezone.now())


def test_a_sale_that_a_customer_looks_at_goes_on(device: Device) -> None:
    where = {"checkout_id": device.sale().checkout.public_id}
    leave(device)
    assert device.get("till_sale_status", **where).json()["status"] == "pending"
    assert device.get("till").status_code == 403


@pytest.mark.parametrize("typed", ["2468", " 2468 ", "٢٤٦٨"])
def test_the_pin_brings_it_back(typed: str, device: Device) -> None:
    leave(device)
    answer = device.post("till_unlock", {"pin": typed})
    assert (answer.status_code, answer["Location"]) == (303, "/till/")
    assert device.charge().status_code == 303


@pytest.mark.parametrize("typed", ["", "2467", "24680", "pin", "\x00", "9" * 300])
def test_another_one_does_not(typed: str, device: Device) -> None:
    leave(device)
    answer = device.post("till_unlock", {"pin": typed})
    assert answer.status_code == 422
    assert "This PIN is wrong" in text_of(answer)
    assert device.get("till").status_code == 403


def test_pins_cannot_be_tried_without_end(device: Device) -> None:
    leave(device)
    answers = [device.post("till_unlock", {"pin": "0000"}).status_code for _ in range(MOST_FAILURES)]
    assert answers == [422] * MOST_FAILURES
    right = device.post("till_unlock", {"pin": "2468"})
    assert right.status_code == 429
    assert "Too many wrong PINs" in text_of(right)
    assert device.get("till").status_code == 403
    assert unlock(device.terminal, "2468", now=timezone.now() + LOCKED_FOR + timedelta(seconds=1))
    assert not Guesses.objects.exists()


def test_the_guesses_at_one_terminal_lock_no_other(device: Device, merchant: Merchant) -> None:
    other = paired_device(add_terminal(merchant, Mode.TEST, with_pin("2468"), actor=SYSTEM, now=timezone.now()))
    for one in (device, other):
        leave(one)
    for _ in range(MOST_FAILURES):
        device.post("till_unlock", {"pin": "0000"})
    assert other.post("till_unlock", {"pin": "2468"}).status_code == 303


def test_a_new_pin_is_asked_for_at_once_and_frees_what_was_locked(device: Device) -> None:
    leave(device)
    for _ in range(MOST_FAILURES):
        device.post("till_unlock", {"pin": "0000"})
    change_terminal(device.terminal, with_pin("1357"), actor=SYSTEM, now=timezone.now())
    assert device.get("till").status_code == 403
    assert device.post("till_unlock", {"pin": "2468"}).status_code == 422
    assert device.post("till_unlock", {"pin": "1357"}).status_code == 303


def test_a_request_of_before_a_new_pin_does_not_open_the_device(device: Device) -> None:
    before = Terminal.objects.get()
    change_terminal(device.terminal, with_pin("1357"), actor=SYSTEM, now=timezone.now())
    note_act(before, now=timezone.now() + IDLE)
    assert not unlock(before, "2468", now=timezone.now())
    assert is_locked(Terminal.objects.get(), now=timezone.now())


def test_other_changes_leave_the_pin_and_an_empty_one_takes_it_away(device: Device) -> None:
    change_terminal(device.terminal, with_pin(None), actor=SYSTEM, now=timezone.now())
    leave(device)
    assert device.get("till").status_code == 403
    change_terminal(device.terminal, with_pin(""), actor=SYSTEM, now=timezone.now())
    assert device.get("till").status_code == 200
    # Without a PIN there is nothing to take, and a form that is sent late leads to the keypad.
    assert device.post("till_unlock", {"pin": "0000"}).status_code == 303


def test_a_terminal_without_a_pin_is_never_locked(merchant: Merchant) -> None:
    device = paired_device(make_terminal(merchant))
    leave(device, minutes=60)
    page = device.get("till")
    assert page.status_code == 200
    assert 'data-idle-seconds="0"' in text_of(page)


def test_an_idle_page_that_looks_does_not_keep_the_device_unlocked(device: Device) -> None:
    """Two open tabs would, by turns, for ever."""
    leave(device, minutes=4.5)
    before = Terminal.objects.get().active_at
    assert device.client.get("/till/", headers={"Till-Idle": "1"}).status_code == 200
    assert Terminal.objects.get().active_at == before
    assert device.get("till").status_code == 200
    assert Terminal.objects.get().active_at != before


def test_the_page_knows_how_long_the_server_waits(device: Device) -> None:
    assert f'data-idle-seconds="{IDLE.seconds}"' in text_of(device.get("till"))


def test_a_pin_is_in_no_audit_entry(device: Device) -> None:
    change_terminal(device.terminal, with_pin("1357"), actor=SYSTEM, now=timezone.now())
    told = [(entry.action, entry.after.get("pin")) for entry in AuditEntry.objects.order_by("pk") if entry.after]
    assert ("terminal.added", "set") in told
    assert ("terminal.changed", "set") in told
    assert not [entry for entry in AuditEntry.objects.all() if "1357" in str(entry.after) or "2468" in str(entry.after)]
    assert "2468" not in repr(with_pin("2468"))
