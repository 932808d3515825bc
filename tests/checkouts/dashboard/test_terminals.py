"""The merchant's pages of terminals: who adds and revokes them, the code that is shown once, the sheet, the signs."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import AuditEntry
from accounts.states import Mode
from checkouts.models import Terminal, TerminalSale
from checkouts.till.pairing import IDLE, pair, plain_code
from checkouts.till.service import sign_url
from links.tokens import link_url
from tests.accounts.brand.test_views import picture, save
from tests.checkouts.dashboard.opened import listed
from tests.checkouts.till.terminals import make_sale, make_terminal, paired_device
from tests.dashboard.people import Desk
from tests.factories import make_merchant
from tests.links.factories import make_donation, make_link
from tests.rates.playing import price_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("chains_are_well")]

SENT = {"name": "Terrace", "tips": "5, 10 15%", "chain": "base", "shows_day": "on"}
CODE = re.compile(r"data-pairing-code>([0-9A-Z]{4}-[0-9A-Z]{4})<")


def page_of(desk: Desk, name: str, query: str = "", **arguments: Any) -> str:
    """A page, its white space folded."""
    return " ".join(desk.get(name, query, **arguments).text.split())


def test_a_terminal_is_added_in_the_mode_of_the_page(admin: Desk) -> None:
    answer = admin.post("dashboard_new_terminal", SENT)
    terminal = Terminal.objects.get()
    assert answer["Location"] == admin.url("dashboard_terminal", terminal_id=terminal.public_id)
    assert (terminal.merchant, terminal.mode, terminal.created_by) == (admin.merchant, Mode.LIVE, admin.user)
    assert (terminal.tips, terminal.chain, terminal.shows_day, terminal.has_sign) == ([5, 10, 15], "base", True, False)
    assert "Terrace" in page_of(admin, "dashboard_terminals")


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""},
        {"name": "x" * 41},
        {"tips": "0"},
        {"tips": "51"},
        {"tips": "00505"},
        {"tips": "9" * 40},
        {"tips": "1 2 3 4 5"},
        {"tips": "five"},
        {"tips": "٥"},
        {"chain": "nowhere"},
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_added(wrong: dict[str, str], owner: Desk) -> None:
    assert owner.post("dashboard_new_terminal", SENT | wrong).status_code == 422
    assert not Terminal.objects.exists()


def test_a_terminal_is_in_a_currency_that_prices_may_be_in(owner: Desk, settings: Any) -> None:
    assert "Currency" not in page_of(owner, "dashboard_new_terminal")
    owner.post("dashboard_new_terminal", SENT | {"currency": "EUR"})
    # Without the setting nobody is asked, and what is sent is passed over.
    assert Terminal.objects.get().currency == "USD"
    price_in(settings, "EUR")
    assert owner.post("dashboard_new_terminal", SENT | {"currency": "XXX"}).status_code == 422
    owner.post("dashboard_new_terminal", SENT | {"currency": "EUR"})
    terminal = Terminal.objects.latest("pk")
    assert terminal.currency == "EUR"
    settings.PRICE_CURRENCIES = []
    # It stays what it is until a person chooses another.
    owner.post("dashboard_edit_terminal", SENT | {"currency": "EUR", "name": "Door"}, terminal_id=terminal.public_id)
    terminal.refresh_from_db()
    assert (terminal.name, terminal.currency) == ("Door", "EUR")


@pytest.mark.parametrize("pin", ["123", "1234567", "12a4", "1 234"])
def test_a_pin_is_four_to_six_digits(pin: str, owner: Desk) -> None:
    answer = owner.post("dashboard_new_terminal", SENT | {"pin": pin})
    assert answer.status_code == 422
    assert f'value="{pin}"' not in answer.text
    assert not Terminal.objects.exists()


def test_networks_may_stand_first(owner: Desk) -> None:
    owner.post("dashboard_new_terminal", {**SENT, "chains": ["tron", "base"]})
    terminal = Terminal.objects.get()
    assert terminal.chains == ["base", "tron"]
    form = page_of(owner, "dashboard_edit_terminal", terminal_id=terminal.public_id)
    assert len(re.findall(r'name="chains" value="\w+"[^>]*checked', form)) == 2
    assert owner.post("dashboard_new_terminal", {**SENT, "chains": ["nowhere"]}).status_code == 422


def test_a_pin_is_set_kept_and_taken_away(owner: Desk) -> None:
    owner.post("dashboard_new_terminal", SENT | {"pin": "٢٤٦٨"})
    terminal = Terminal.objects.get()
    device = paired_device(terminal)
    Terminal.objects.update(active_at=timezone.now() - 2 * IDLE)
    where = {"terminal_id": terminal.public_id}
    owner.post("dashboard_edit_terminal", SENT | {"name": "Door"}, **where)
    assert device.post("till_unlock", {"pin": "2468"}).status_code == 303
    assert "Asked for" in page_of(owner, "dashboard_terminal", **where)
    form = page_of(owner, "dashboard_edit_terminal", **where)
    assert "2468" not in form
    assert "Ask for no PIN any more" in form
    owner.post("dashboard_edit_terminal", SENT | {"drops_pin": "on"}, **where)
    terminal.refresh_from_db()
    assert terminal.pin_hash == ""
    assert "Ask for no PIN" not in page_of(owner, "dashboard_edit_terminal", **where)


def test_a_viewer_sees_terminals_and_changes_none(viewer: Desk) -> None:
    terminal = make_terminal(viewer.merchant, Mode.LIVE)
    page = page_of(viewer, "dashboard_terminal", terminal_id=terminal.public_id)
    assert "Pair a device" not in page
    assert "Revoke" not in page
    for name in ("pair", "revoke", "edit"):
        assert viewer.post(f"dashboard_{name}_terminal", SENT, terminal_id=terminal.public_id).status_code == 403
    assert viewer.post("dashboard_new_terminal", SENT).status_code == 403
    assert Terminal.objects.get().name == "Bar"


def test_a_code_is_shown_once_and_pairs_a_device(owner: Desk) -> None:
    terminal = make_terminal(owner.merchant, Mode.LIVE)
    shown = owner.post("dashboard_pair_terminal", terminal_id=terminal.public_id)
    [code] = CODE.findall(" ".join(shown.text.split()))
    assert shown["Cache-Control"] == "no-store"
    assert not CODE.search(page_of(owner, "dashboard_terminal", terminal_id=terminal.public_id))
    pair(code, device="Safari on iPhone", address=None, now=timezone.now())
    page = page_of(owner, "dashboard_terminal", terminal_id=terminal.public_id)
    assert "Safari on iPhone" in page
    assert "Pair another device" in page
    log = owner.get("dashboard_audit_log").text
    assert plain_code(code) not in log.lower().replace("-", "")
    assert "Device paired with a terminal" in log


def test_a_code_is_offered_by_a_press_only(owner: Desk) -> None:
    terminal = make_terminal(owner.merchant, Mode.LIVE)
    assert owner.get("dashboard_pair_terminal", terminal_id=terminal.public_id).status_code == 405
    assert Terminal.objects.get().pair_digest is None


def test_a_terminal_is_changed_and_its_device_stays(owner: Desk) -> None:
    terminal = make_terminal(owner.merchant, Mode.LIVE)
    device = paired_device(terminal)
    owner.post("dashboard_edit_terminal", SENT, terminal_id=terminal.public_id)
    terminal.refresh_from_db()
    assert (terminal.name, terminal.tips, terminal.has_sign) == ("Terrace", [5, 10, 15], False)
    assert "Terrace" in device.get("till").content.decode()


def test_revoking_is_at_once_and_for_good(owner: Desk) -> None:
    terminal = make_terminal(owner.merchant, Mode.LIVE)
    device = paired_device(terminal)
    owner.post("dashboard_revoke_terminal", terminal_id=terminal.public_id)
    assert device.get("till").status_code == 401
    page = page_of(owner, "dashboard_terminal", terminal_id=terminal.public_id)
    assert "Revoked" in page
    assert "Pair a" not in page
    answer = owner.post("dashboard_pair_terminal", terminal_id=terminal.public_id)
    assert answer.status_code == 302
    assert AuditEntry.objects.get(action="terminal.revoked").actor == owner.user


def test_the_days_sheet_lists_the_terminals_sales(owner_in_test_mode: Desk) -> None:
    desk = owner_in_test_mode
    terminal = make_terminal(desk.merchant)
    sale, other = make_sale(terminal, "8.40"), make_sale(make_terminal(desk.merchant))
    page = page_of(desk, "dashboard_terminal_day", terminal_id=terminal.public_id)
    assert sale.checkout.public_id in page
    assert other.checkout.public_id not in page
    earlier = page_of(desk, "dashboard_terminal_day", "?day=2020-02-29", terminal_id=terminal.public_id)
    assert "No sales on this day" in earlier


@pytest.mark.parametrize(
    ("zone", "day", "begins"),
    [
        ("Pacific/Auckland", "2026-11-20", "2026-11-19T11:00"),
        ("America/Los_Angeles", "2026-11-20", "2026-11-20T08:00"),
        # Clocks went back, and the day had 25 hours.
        ("America/Los_Angeles", "2025-11-02", "2025-11-02T07:00"),
    ],
)
def test_the_days_sheet_is_of_the_merchants_day_and_prints_its_times(
    owner_in_test_mode: Desk, zone: str, day: str, begins: str
) -> None:
    desk = owner_in_test_mode
    desk.merchant.time_zone = zone
    desk.merchant.save(update_fields=["time_zone"])
    terminal, first = make_terminal(desk.merchant), datetime.fromisoformat(begins).replace(tzinfo=UTC)
    inside, outside = make_sale(terminal, "8.40"), make_sale(terminal)
    TerminalSale.objects.filter(pk=inside.pk).update(created_at=first)
    TerminalSale.objects.filter(pk=outside.pk).update(created_at=first - timedelta(microseconds=1))
    page = page_of(desk, "dashboard_terminal_day", f"?day={day}", terminal_id=terminal.public_id)
    assert f"Made, {zone}</th>" in page
    assert f">{datetime.fromisoformat(day):%-d %b %Y}, 00:00<" in page
    assert inside.checkout.public_id in page
    assert outside.checkout.public_id not in page


@pytest.mark.parametrize("day", ["2026-13-01", "0001-01-01", "9999-12-31", "yesterday", "2026-02-29"])
def test_what_is_no_day_has_no_sheet(day: str, owner: Desk) -> None:
    terminal = make_terminal(owner.merchant, Mode.LIVE)
    assert owner.get("dashboard_terminal_day", f"?day={day}", terminal_id=terminal.public_id).status_code == 404


def test_signs_show_the_shop_the_code_and_the_address(owner_in_test_mode: Desk) -> None:
    desk = owner_in_test_mode
    terminal = make_terminal(desk.merchant)
    page = page_of(desk, "dashboard_terminal_sign", terminal_id=terminal.public_id)
    assert desk.merchant.name in page
    assert sign_url(terminal) in page
    bare = make_terminal(desk.merchant, has_sign=False)
    assert desk.get("dashboard_terminal_sign", terminal_id=bare.public_id).status_code == 404


def test_a_sign_has_the_logo_and_its_steps_in_the_languages_that_are_chosen(owner_in_test_mode: Desk) -> None:
    desk = owner_in_test_mode
    terminal, link = make_terminal(desk.merchant), make_donation(desk.merchant)
    signs = (
        ("dashboard_terminal_sign", {"terminal_id": terminal.public_id}),
        ("dashboard_link_sign", {"link_id": link.public_id}),
    )
    for name, where in signs:
        bare = page_of(desk, name, **where)
        assert "sign__logo" not in bare
        assert "Scan with your phone's camera" in bare.replace("&#x27;", "'")
        two = page_of(desk, name, "?language=de&language=ar", **where)
        assert '<ol class="sign__steps" lang="de" dir="ltr">' in two
        assert '<ol class="sign__steps" lang="ar" dir="rtl">' in two
        assert '<html lang="en"' in two
        assert 'class="sign sign--a6"' in bare
        assert 'class="sign sign--a5"' in page_of(desk, name, "?paper=a5", **where)
    save(desk, logo=picture())
    for name, where in signs:
        assert re.search(
            r'<img class="sign__logo" src="/brand/mer_\w+/[0-9a-f]{32}\.png"', page_of(desk, name, **where)
        )


def test_a_link_has_a_sign_with_its_price_or_without(owner_in_test_mode: Desk) -> None:
    desk = owner_in_test_mode
    priced, given = make_link(desk.merchant), make_donation(desk.merchant)
    page = page_of(desk, "dashboard_link_sign", link_id=priced.public_id)
    assert "25.00 USD" in page
    assert link_url(priced.code) in page
    yen = page_of(desk, "dashboard_link_sign", link_id=make_link(desk.merchant, amount=1200, currency="JPY").public_id)
    assert ">1,200 JPY<" in yen
    assert "USD" not in yen.partition("sign__price")[2].partition("</p>")[0]
    assert "Type the amount" in page_of(desk, "dashboard_link_sign", link_id=given.public_id)
    archived = make_link(desk.merchant, status="archived")
    assert desk.get("dashboard_link_sign", link_id=archived.public_id).status_code == 404


def test_anothers_terminal_and_the_other_modes_are_not_in_the_list(owner: Desk) -> None:
    make_terminal(make_merchant(), Mode.LIVE)
    make_terminal(owner.merchant, Mode.TEST)
    assert "Sell with a phone" in page_of(owner, "dashboard_terminals")


def test_the_list_of_checkouts_is_narrowed_to_a_terminal(owner_in_test_mode: Desk) -> None:
    desk = owner_in_test_mode
    terminal = make_terminal(desk.merchant)
    sale, _ = make_sale(terminal), make_sale(make_terminal(desk.merchant))
    assert listed(desk, f"?terminal={terminal.public_id}") == [sale.checkout.public_id]
    foreign = make_sale(make_terminal(make_merchant())).terminal
    for text in (foreign.public_id, "ter_test_nobody", "'"):
        assert listed(desk, f"?terminal={text}") == []
