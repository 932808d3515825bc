"""The till on a phone, by touch: pair, type, charge, show, paid. In test mode here; on local chains in test_till_chains.py."""

import re
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.utils import timezone
from playwright.sync_api import BrowserContext, Page, expect

from accounts.audit.actors import SYSTEM
from checkouts.models import Checkout, Terminal, TerminalSale
from checkouts.testmode import play_due_steps
from checkouts.till.pairing import revoke_terminal
from checkouts.till.service import sign_url
from tests.browser.conftest import PHONE
from tests.browser.dashboard import look
from tests.browser.paper import printed
from tests.browser.test_five_tasks import Hand
from tests.browser.test_screenshots import faults, overflows, scanned
from tests.checkouts.till.terminals import make_sale, make_terminal, paired_device
from tests.dashboard.people import Desk
from tests.rates.playing import price_in, store_rates
from tests.waiting import wait_until

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("chains_are_well")]

TOUCH: dict[str, Any] = {"viewport": PHONE, "has_touch": True, "is_mobile": True, "reduced_motion": "reduce"}
# Notes what the device would do, where nobody hears or feels it.
FELT = """
window.felt = [];
navigator.vibrate = (pattern) => { felt.push("vibration"); return true; };
const made = AudioContext.prototype.createOscillator;
AudioContext.prototype.createOscillator = function () { felt.push("tone"); return made.call(this); };
"""


@pytest.fixture
def open_till(open_context: Callable[..., BrowserContext], live_server: Any) -> Callable[..., Page]:
    """Open the keypad on a phone that is paired with a terminal; further options are Playwright's."""

    def open_one(terminal: Terminal, **options: Any) -> Page:
        context = open_context(**(TOUCH | options))
        token = paired_device(terminal).client.cookies[settings.TILL_COOKIE_NAME].value
        context.add_cookies(
            [{"name": settings.TILL_COOKIE_NAME, "value": token, "url": live_server.url, "sameSite": "Strict"}]
        )
        page = context.new_page()
        page.add_init_script(FELT)
        page.goto(f"{live_server.url}/till/")
        return page

    return open_one


def type_keys(page: Page, keys: str) -> None:
    """Tap keys of the keypad."""
    for key in keys:
        page.get_by_role("button", name=key, exact=True).tap()


def test_a_phone_is_paired_by_the_code_of_the_dashboard(
    owner_in_test_mode: Desk, open_desk: Callable[..., Page], open_context: Callable[..., BrowserContext]
) -> None:
    desk = owner_in_test_mode
    page = open_desk(desk, "dashboard_terminals")
    page.get_by_role("link", name="Add terminal").click()
    page.get_by_label("Name").fill("Bar")
    page.get_by_label("Tips in percent").fill("5, 10")
    page.get_by_role("button", name="Add terminal").click()
    page.get_by_role("button", name="Pair a device").click()
    code = page.locator("[data-pairing-code]").inner_text()
    address = scanned(page, ".pairing__code")
    assert address == f"{settings.BASE_URL}/till/pair#{code}"
    phone = open_context(**TOUCH).new_page()
    # The server of the test is elsewhere than the settings say.
    phone.goto(page.url.split("/dashboard/")[0] + "/till/pair#" + code)
    expect(phone.get_by_label("Code")).to_have_value(code)
    assert "#" not in phone.url
    phone.get_by_role("button", name="Use this device").tap()
    expect(phone.get_by_role("button", name=re.compile("^Charge"))).to_be_visible()
    assert Terminal.objects.get().digest is not None


def test_from_the_keypad_to_green_with_a_sound(merchant: Any, open_till: Callable[..., Page]) -> None:
    page = open_till(make_terminal(merchant))
    page.evaluate("window.sameDocument = true")
    type_keys(page, "750")
    expect(page.get_by_label("USD")).to_have_value("7.50")
    page.get_by_text("10 %").tap()
    charge = page.get_by_role("button", name="Charge 8.25 USD")
    expect(charge).to_be_in_viewport(ratio=1)
    charge.tap()
    code = page.get_by_role("img", name="QR code of the payment page")
    expect(code).to_be_in_viewport(ratio=1)
    checkout = Checkout.objects.get()
    assert str(checkout.amount) == "8.25"
    assert scanned(page, ".sale__qr").partition("?")[0].endswith(f"/c/{checkout.code}")
    assert play_due_steps(now=timezone.now() + timedelta(seconds=20))
    expect(page.get_by_role("heading", name="Paid")).to_be_visible()
    expect(page.locator("#announcer")).to_have_text("Paid")
    felt = page.evaluate("felt")
    assert "vibration" in felt
    assert felt.count("tone") in {0, 2}
    assert page.evaluate("window.sameDocument")
    page.get_by_role("link", name="New sale").tap()
    expect(page.get_by_label("USD")).to_have_value("")
    expect(page.get_by_role("button", name=re.compile("^Charge"))).to_be_disabled()


@pytest.mark.parametrize(("width", "height"), [(360, 740), (1024, 768)], ids=["small phone", "tablet"])
def test_a_small_phone_and_a_tablet_sell_by_touch_alone(
    width: int, height: int, merchant: Any, open_till: Callable[..., Page]
) -> None:
    page = open_till(make_terminal(merchant), viewport={"width": width, "height": height})
    type_keys(page, "1230")
    page.get_by_text("10 %").tap()
    charge = page.get_by_role("button", name="Charge 13.53 USD")
    expect(charge).to_be_in_viewport(ratio=1)
    assert not overflows(page)
    charge.tap()
    expect(page.get_by_role("img", name="QR code of the payment page")).to_be_in_viewport(ratio=1)
    assert not overflows(page)
    page.get_by_role("button", name="Cancel").tap()
    expect(page.get_by_label("USD")).to_have_value("")
    assert Checkout.objects.get().cancelled_at is not None
    assert TerminalSale.objects.get().tip == Decimal("1.23")


def test_a_sale_is_one_tap_once_its_amount_is_typed(merchant: Any, open_till: Callable[..., Page]) -> None:
    """The row of the till in the table of test_five_tasks.py, counted as there: the keys of the amount are one field."""
    hand = Hand(open_till(make_terminal(merchant)), touches=True)
    type_keys(hand.page, "750")
    hand.fields += 1
    hand.press("Charge 7.50 USD")
    expect(hand.page.get_by_role("img", name="QR code of the payment page")).to_be_in_viewport(ratio=1)
    assert (hand.clicks, hand.fields) == (1, 1)


def test_a_networks_code_is_one_tap_away_and_is_what_its_wallets_read(
    merchant: Any, open_till: Callable[..., Page]
) -> None:
    page = open_till(make_terminal(merchant))
    type_keys(page, "12")
    page.get_by_role("button", name="00", exact=True).tap()
    page.get_by_role("button", name=re.compile("^Charge")).tap()
    page.get_by_role("button", name="Tron").tap()
    expect(page.get_by_role("img", name="QR code of the payment on Tron")).to_be_visible()
    checkout = Checkout.objects.get()
    assert scanned(page, ".sale__qr") == checkout.offers["tron"]["wallet"]
    page.get_by_role("button", name="Base").tap()
    expect(page.get_by_role("img", name="QR code of the payment on Base")).to_be_visible()
    assert checkout.offers["base"]["address"].lower() in scanned(page, ".sale__qr").lower()
    page.reload()
    expect(page.get_by_role("img", name="QR code of the payment on Base")).to_be_visible()


def test_a_keyboard_types_too(merchant: Any, open_till: Callable[..., Page]) -> None:
    page = open_till(make_terminal(merchant), has_touch=False, is_mobile=False)
    page.keyboard.type("1250")
    expect(page.get_by_label("USD")).to_have_value("12.50")
    page.keyboard.press("Backspace")
    expect(page.get_by_label("USD")).to_have_value("1.25")
    page.keyboard.press("Enter")
    expect(page.get_by_role("img", name="QR code of the payment page")).to_be_visible()
    assert str(Checkout.objects.get().amount) == "1.25"


@pytest.mark.parametrize("typed", ["١٢٥٠", "१२५०", "１２５０"])
def test_a_keyboard_types_the_digits_of_its_script(typed: str, merchant: Any, open_till: Callable[..., Page]) -> None:
    page = open_till(make_terminal(merchant), has_touch=False, is_mobile=False)
    page.keyboard.type(typed)
    expect(page.get_by_label("USD")).to_have_value("12.50")
    page.keyboard.press("Backspace")
    expect(page.get_by_label("USD")).to_have_value("1.25")


def test_a_currency_without_cents_is_typed_without_a_point(
    merchant: Any, open_till: Callable[..., Page], request: pytest.FixtureRequest
) -> None:
    changed = request.getfixturevalue("settings")
    price_in(changed, "JPY")
    changed.DEPEG_GUARD = False
    store_rates({"JPY": "0.006666666667"})
    page = open_till(make_terminal(merchant, currency="JPY"))
    type_keys(page, "1210")
    expect(page.get_by_label("JPY")).to_have_value("1210")
    page.get_by_text("5 %").tap()
    page.get_by_role("button", name="Charge 1271 JPY").tap()
    expect(page.get_by_role("img", name="QR code of the payment page")).to_be_visible()
    expect(page.get_by_text("1,271 JPY")).to_be_visible()


def test_an_idle_device_asks_for_its_pin(merchant: Any, open_till: Callable[..., Page], complaints: list[str]) -> None:
    terminal = make_terminal(merchant, pin_hash=make_password("2468"))
    page = open_till(terminal)
    type_keys(page, "500")
    Terminal.objects.update(active_at=timezone.now() - timedelta(minutes=6))
    page.get_by_role("button", name=re.compile("^Charge")).tap()
    field = page.get_by_label("PIN")
    expect(field).to_be_focused()
    field.fill("1357")
    page.get_by_role("button", name="Go on").tap()
    expect(page.get_by_role("alert").filter(has_text="This PIN is wrong")).to_be_visible()
    assert not Checkout.objects.exists()
    assert faults(page, "till-pin") == []
    page.get_by_label("PIN").fill("2468")
    page.get_by_role("button", name="Go on").tap()
    expect(page.get_by_label("USD")).to_have_value("")
    # The browser's own lines about statuses 403 and 422.
    complaints.clear()


def test_a_page_that_lies_idle_shows_nothing_more(
    merchant: Any, open_till: Callable[..., Page], complaints: list[str]
) -> None:
    terminal = make_terminal(merchant, pin_hash=make_password("2468"))
    page = open_till(terminal)
    page.clock.install()
    page.goto(page.url + "sales")
    Terminal.objects.update(active_at=timezone.now() - timedelta(minutes=6))
    page.clock.fast_forward("05:02")
    expect(page.get_by_label("PIN")).to_be_visible()
    complaints.clear()


def test_a_page_that_lies_idle_beside_another_tab_is_no_act(merchant: Any, open_till: Callable[..., Page]) -> None:
    terminal = make_terminal(merchant, pin_hash=make_password("2468"))
    page = open_till(terminal)
    page.clock.install()
    page.goto(page.url + "sales")
    used = timezone.now() - timedelta(minutes=4)
    Terminal.objects.update(active_at=used)
    page.clock.fast_forward("05:02")
    expect(page.get_by_label("USD")).to_be_visible()
    assert Terminal.objects.get().active_at == used


def test_a_phone_that_slept_shows_nothing_more(
    merchant: Any, open_till: Callable[..., Page], complaints: list[str]
) -> None:
    """Its timers stood still, and its `performance.now()`, too."""
    terminal = make_terminal(merchant, pin_hash=make_password("2468"))
    page = open_till(terminal)
    page.goto(page.url + "sales")
    Terminal.objects.update(active_at=timezone.now() - timedelta(minutes=6))
    page.evaluate("""() => {
        const later = Date.now() + 302_000;
        Date.now = () => later;
        document.dispatchEvent(new Event("visibilitychange"));
    }""")
    expect(page.get_by_label("PIN")).to_be_visible()
    complaints.clear()


# Five minutes go by on the wall, and none for `performance.now()`.
SLEEP = "(() => { const now = Date.now; Date.now = () => now() + 300_000; })()"
SECONDS_LEFT = """() => {
  const [minutes, seconds] = document.querySelector("[data-clock]").textContent.trim().split(":");
  return 60 * minutes + Number(seconds);
}"""


def test_after_a_tablet_slept_the_time_left_is_right_even_if_the_server_is_away(
    merchant: Any, open_till: Callable[..., Page], complaints: list[str]
) -> None:
    page = open_till(make_terminal(merchant))
    type_keys(page, "500")
    page.get_by_role("button", name=re.compile("^Charge")).tap()
    expect(page.get_by_role("img", name="QR code of the payment page")).to_be_visible()
    page.route("**/status*", lambda route: route.abort())
    before = page.evaluate(SECONDS_LEFT)
    page.evaluate(SLEEP)
    wait_until(lambda: page.evaluate(SECONDS_LEFT) <= before - 300)
    assert page.evaluate(SECONDS_LEFT) > before - 360
    complaints.clear()


def test_a_tablets_clock_that_is_put_right_takes_no_time_from_the_sale(
    merchant: Any, open_till: Callable[..., Page]
) -> None:
    page = open_till(make_terminal(merchant))
    type_keys(page, "500")
    page.get_by_role("button", name=re.compile("^Charge")).tap()
    expect(page.get_by_role("img", name="QR code of the payment page")).to_be_visible()
    before = page.evaluate(SECONDS_LEFT)
    page.evaluate("document.getElementById('sale').dataset.mark = 'mine'")
    page.evaluate(SLEEP)
    page.evaluate("dispatchEvent(new Event('focus'))")
    expect(page.locator("#sale:not([data-mark])")).to_be_attached()
    wait_until(lambda: page.evaluate(SECONDS_LEFT) > before - 60)


def test_without_a_connection_nothing_is_charged_and_it_says_so(
    merchant: Any, open_till: Callable[..., Page], complaints: list[str]
) -> None:
    page = open_till(make_terminal(merchant))
    page.wait_for_function("() => navigator.serviceWorker.ready.then(() => true)")
    type_keys(page, "500")
    page.context.set_offline(True)
    page.get_by_role("button", name=re.compile("^Charge")).tap()
    expect(page.get_by_text("No connection.")).to_be_visible()
    page.context.set_offline(False)
    expect(page.get_by_text("No connection.")).to_be_hidden()
    assert not Checkout.objects.exists()
    page.get_by_role("button", name=re.compile("^Charge")).tap()
    expect(page.get_by_role("img", name="QR code of the payment page")).to_be_visible()
    # The browser's own lines about the request that we let fail.
    complaints.clear()


# A page that gets no answer is given up at once, not after its twenty seconds.
HASTE = """(() => {
  const timeout = AbortSignal.timeout;
  AbortSignal.timeout = (wait) => timeout.call(AbortSignal, window.patient || wait !== 20000 ? wait : 50);
})()"""


def test_an_answer_that_never_comes_gives_the_button_back_and_says_so(
    merchant: Any, open_till: Callable[..., Page], complaints: list[str]
) -> None:
    page = open_till(make_terminal(merchant))
    page.evaluate(HASTE)
    type_keys(page, "500")
    held: list[Any] = []
    page.route("**/till/**", lambda route: held.append(route))
    charge = page.get_by_role("button", name=re.compile("^Charge"))
    charge.tap()
    expect(page.get_by_text("No connection.")).to_be_visible()
    expect(charge).to_be_enabled()
    assert len(held) == 1
    page.unroute("**/till/**")
    page.evaluate("window.patient = true")
    charge.tap()
    expect(page.get_by_role("img", name="QR code of the payment page")).to_be_visible()
    expect(page.get_by_text("No connection.")).to_be_hidden()
    complaints.clear()


def test_a_button_comes_back_though_another_page_was_asked_for_and_lost_meanwhile(
    merchant: Any, open_till: Callable[..., Page], complaints: list[str]
) -> None:
    page = open_till(make_terminal(merchant))
    type_keys(page, "500")
    held: list[Any] = []
    page.route("**/till/**", lambda route: held.append(route) if route.request.method == "POST" else route.abort())
    charge = page.get_by_role("button", name=re.compile("^Charge"))
    charge.tap()
    expect(charge).to_be_disabled()
    page.get_by_role("link", name="Sales").tap()
    expect(page.get_by_text("No connection.")).to_be_visible()
    held[0].abort()
    expect(charge).to_be_enabled()
    complaints.clear()


def test_a_sale_on_a_network_without_a_way_out_says_so(
    merchant: Any, open_till: Callable[..., Page], complaints: list[str]
) -> None:
    page = open_till(make_terminal(merchant))
    type_keys(page, "500")
    page.get_by_role("button", name=re.compile("^Charge")).tap()
    expect(page.get_by_role("img", name="QR code of the payment page")).to_be_visible()
    page.route("**/status*", lambda route: route.abort())
    expect(page.get_by_text("No connection.")).to_be_visible()
    page.unroute("**/status*")
    expect(page.get_by_text("No connection.")).to_be_hidden()
    complaints.clear()


def test_a_device_that_is_revoked_in_the_middle_of_a_sale_leaves_it(
    merchant: Any, open_till: Callable[..., Page], complaints: list[str]
) -> None:
    terminal = make_terminal(merchant)
    page = open_till(terminal)
    type_keys(page, "500")
    page.get_by_role("button", name=re.compile("^Charge")).tap()
    expect(page.get_by_role("img", name="QR code of the payment page")).to_be_visible()
    revoke_terminal(terminal, actor=SYSTEM, now=timezone.now())
    expect(page.get_by_role("heading", name="Use this device as a till")).to_be_visible()
    # The browser's own line about status 401.
    complaints.clear()


def test_without_scripts_it_sells(merchant: Any, open_till: Callable[..., Page]) -> None:
    page = open_till(make_terminal(merchant), java_script_enabled=False)
    page.get_by_label("USD").fill("4.20")
    page.get_by_role("button", name="Charge").tap()
    expect(page.get_by_role("img", name="QR code of the payment page")).to_be_visible()
    play_due_steps(now=timezone.now() + timedelta(seconds=20))
    page.reload()
    expect(page.get_by_role("heading", name="Paid")).to_be_visible()


def test_two_terminals_sell_at_once_and_each_sees_its_own(merchant: Any, open_till: Callable[..., Page]) -> None:
    first, second = open_till(make_terminal(merchant)), open_till(make_terminal(merchant))
    for page, keys in ((first, "111"), (second, "222")):
        type_keys(page, keys)
        page.get_by_role("button", name=re.compile("^Charge")).tap()
        expect(page.get_by_role("img", name="QR code of the payment page")).to_be_visible()
    first.goto(first.url.partition("/till/")[0] + "/till/sales")
    expect(first.get_by_role("listitem")).to_have_count(1)
    expect(first.get_by_role("listitem")).to_contain_text("1.11 USD")
    assert TerminalSale.objects.count() == 2


@pytest.mark.parametrize("stage", ["pair", "keypad", "open", "network", "paid", "receipt", "cancelled", "sales", "day"])
def test_each_page_fits_each_screen_in_both_themes(stage: str, merchant: Any, open_till: Callable[..., Page]) -> None:
    terminal = make_terminal(merchant)
    page = open_till(terminal, has_touch=False, is_mobile=False)
    here = page.url
    sale = make_sale(terminal, "1234.56")
    paths = {"pair": "pair", "keypad": "", "sales": "sales", "day": "day"}
    path = paths.get(stage, f"sales/{sale.checkout.public_id}")
    if stage in {"paid", "receipt"}:
        play_due_steps(now=timezone.now() + timedelta(seconds=20))
    page.goto(here + path)
    if stage == "receipt":
        page.get_by_text("Receipt", exact=True).click()
        expect(page.get_by_role("button", name="Mail the receipt")).to_be_visible()
    if stage == "network":
        page.get_by_role("button", name="Tron").click()
        expect(page.get_by_role("img", name="QR code of the payment on Tron")).to_be_visible()
    if stage == "cancelled":
        page.get_by_role("button", name="Cancel").click()
        page.goto(here + path)
        expect(page.get_by_role("heading", name="Cancelled")).to_be_visible()
    assert faults(page, f"till-{stage}") == []


def test_the_dashboards_pages_of_terminals_fit_and_the_sign_is_scanned(
    owner_in_test_mode: Desk, open_desk: Callable[..., Page]
) -> None:
    desk = owner_in_test_mode
    terminal = make_terminal(desk.merchant)
    make_sale(terminal)
    where = {"terminal_id": terminal.public_id}
    for name in ("dashboard_terminals", "dashboard_new_terminal"):
        assert look(open_desk(desk, name), name) == []
    for name in ("dashboard_terminal", "dashboard_terminal_day", "dashboard_terminal_sign"):
        assert look(open_desk(desk, name, where), name) == []
    sign = open_desk(desk, "dashboard_terminal_sign", where)
    assert scanned(sign, ".sign__qr").endswith(f"/t/{terminal.code}")
    sign.emulate_media(media="print")
    expect(sign.get_by_role("navigation")).to_have_count(0)
    expect(sign.locator(".sign")).to_be_visible()


@pytest.mark.parametrize("languages", [["English"], ["English", "Deutsch", "العربية"]], ids=["one", "three"])
@pytest.mark.parametrize(("paper", "size"), [("A6", (105, 148)), ("A5", (148, 210))])
def test_a_sign_fills_one_sheet_of_the_chosen_paper_and_its_code_is_read_from_the_pdf(
    paper: str, size: tuple[int, int], languages: list[str], owner_in_test_mode: Desk, open_desk: Callable[..., Page]
) -> None:
    desk = owner_in_test_mode
    terminal = make_terminal(desk.merchant)
    page = open_desk(desk, "dashboard_terminal_sign", {"terminal_id": terminal.public_id})
    page.get_by_text("Paper and languages").click()
    page.get_by_label(paper, exact=True).check()
    for language in languages:
        page.get_by_label(language, exact=True).check()
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.locator(".sign__steps")).to_have_count(len(languages))
    [sheet] = printed(page)
    assert sheet.size == size
    assert sheet.codes == [sign_url(terminal)]
    assert desk.merchant.name in sheet.text
    assert "Type the amount that you were told" in sheet.text
    # The dashboard around it is not printed.
    for word in ("Paper and languages", "Test mode", "Overview"):
        assert word not in sheet.text


def test_a_long_name_leaves_the_code_of_a_small_sign_large_enough(
    owner_in_test_mode: Desk, open_desk: Callable[..., Page]
) -> None:
    desk = owner_in_test_mode
    desk.merchant.name = "Konditorei und Kaffeehaus Oberschwäbische Landfrauengenossenschaft Biberach an der Riß"
    desk.merchant.save(update_fields=["name"])
    terminal = make_terminal(desk.merchant, name="Terrasse hinter dem Haus")
    where = {"terminal_id": terminal.public_id}
    page = open_desk(desk, "dashboard_terminal_sign", where)
    page.goto(page.url + "?language=de&language=fr&language=pl")
    [sheet] = printed(page)
    assert sheet.codes == [sign_url(terminal)]
    page.emulate_media(media="print")
    # Millimetres of a style are of 96 dots an inch: a code of 30 mm is read from half a metre.
    code = page.locator(".sign__qr").bounding_box()
    assert code is not None
    assert code["height"] / 96 * 25.4 >= 30
