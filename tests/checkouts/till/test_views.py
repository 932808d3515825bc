"""What a paired device can do, and above all what it cannot: everything but selling and looking at its own sales."""

import re
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.conf import settings as configured
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.audit.actors import SYSTEM
from accounts.models import AuditEntry, Merchant
from accounts.states import Mode
from checkouts.lifecycle.receipts import PER_CHECKOUT
from checkouts.models import AmountReservation, Checkout, Terminal, TerminalSale
from checkouts.states import CheckoutStatus
from checkouts.testmode import play_due_steps
from checkouts.till.device import UNPAIRED
from checkouts.till.pairing import offer_pairing, revoke_terminal
from checkouts.till.views import EXACT_IN_AN_HOUR, PAIR, SALE
from gateway.core.ids import new_code
from gateway.core.web.pages import count_client
from mails.models import OutgoingMail
from tests.checkouts.arrivals import reserve
from tests.checkouts.factories import move
from tests.checkouts.till.terminals import Device, make_sale, make_terminal, paired_device
from tests.checkouts.watcher import DOLLAR, pay
from tests.dashboard.people import make_member
from tests.factories import make_checkout, make_merchant, make_wallet
from tests.routes import sample_of, written_routes

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("chains_are_well")]

# Pages that say nothing of anybody.
OPEN = {"till/pair", "till/manifest.webmanifest"}


@pytest.fixture
def device(merchant: Merchant) -> Device:
    """A phone that is paired with a terminal of test mode."""
    return paired_device(make_terminal(merchant))


def text_of(response: Any) -> str:
    """A page's source with its white space folded."""
    return " ".join(response.content.decode().split())


class TestPairing:
    def test_a_code_makes_the_browser_a_device(self, client: Client, merchant: Merchant) -> None:
        terminal = make_terminal(merchant)
        code = offer_pairing(terminal, actor=SYSTEM, now=timezone.now())
        answer = client.post(
            "/till/pair", {"code": code}, headers={"User-Agent": "Mozilla/5.0 (Linux; Android 15) Chrome/140"}
        )
        assert (answer.status_code, answer["Location"]) == (302, "/till/")
        cookie = answer.cookies[configured.TILL_COOKIE_NAME]
        assert cookie["httponly"]
        assert (cookie["samesite"], cookie["path"], cookie["domain"]) == ("Strict", "/", "")
        assert client.get("/till/").status_code == 200
        assert Terminal.objects.get().device == "Chrome on Android"

    def test_a_wrong_code_says_so_and_sets_no_cookie(self, client: Client) -> None:
        answer = client.post("/till/pair", {"code": "0000-0000"})
        assert answer.status_code == 422
        assert "Ask for a new one" in text_of(answer)
        assert configured.TILL_COOKIE_NAME not in answer.cookies
        assert "0000-0000" not in text_of(answer)

    @pytest.mark.usefixtures("still_window")
    def test_codes_cannot_be_tried_without_end(self, client: Client) -> None:
        answers = [client.post("/till/pair", {"code": "x"}).status_code for _ in range(PAIR.most + 1)]
        assert answers == [422] * PAIR.most + [429]

    def test_looking_at_the_page_pairs_nothing(self, client: Client, merchant: Merchant) -> None:
        code = offer_pairing(make_terminal(merchant), actor=SYSTEM, now=timezone.now())
        assert client.get(f"/till/pair?code={code}").status_code == 200
        assert Terminal.objects.get().digest is None


class TestStrangers:
    @pytest.mark.parametrize("token", ["", "x" * 43, "\x00"])
    def test_a_browser_that_is_not_paired_gets_no_page(self, token: str, client: Client, merchant: Merchant) -> None:
        sale = make_sale(make_terminal(merchant))
        if token:
            client.cookies[configured.TILL_COOKIE_NAME] = token
        for path, pattern, converters in written_routes():
            if not path.startswith("till/") or path in OPEN:
                continue
            address = "/" + path
            for name, converter in converters.items():
                address = re.sub(rf"<\w+:{name}>", sale.checkout.public_id or str(sample_of(converter)), address)
            for answer in (client.get(address), client.post(address)):
                assert answer.status_code in {200, 401, 405}, (pattern, answer.status_code)
                if answer.status_code == 200:
                    assert answer.json() == {"status": UNPAIRED, "panel": ""}
                assert sale.checkout.code not in answer.content.decode()

    def test_another_sites_form_sells_nothing(self, device: Device) -> None:
        for site in ("cross-site", "same-site", "none"):
            answer = device.client.post(
                "/till/", {"form": new_code(), "amount": "5.00"}, headers={"Sec-Fetch-Site": site}
            )
            assert answer.status_code == 403
        assert not Checkout.objects.exists()

    def test_a_device_is_nobody_at_the_dashboard_and_the_api(self, device: Device) -> None:
        terminal = device.terminal
        here = {"mer_id": terminal.merchant.public_id, "mode": terminal.mode}
        assert device.client.get(reverse("dashboard_checkouts", kwargs=here)).status_code == 302
        assert device.client.get("/api/v1/checkouts").status_code == 401
        assert device.client.get("/account/security/").status_code == 302


class TestOwnSalesOnly:
    def others(self, device: Device) -> list[Checkout]:
        """Checkouts that are there, and are none of the device's."""
        merchant = device.terminal.merchant
        return [
            make_sale(make_terminal(merchant)).checkout,
            make_sale(make_terminal(make_merchant())).checkout,
            make_checkout(merchant, mode=Mode.TEST),
            make_checkout(merchant, mode=Mode.LIVE),
        ]

    def test_what_is_not_its_own_does_not_exist(self, device: Device) -> None:
        own = device.sale().checkout.public_id
        for checkout in self.others(device):
            where: dict[str, Any] = {"checkout_id": checkout.public_id}
            assert device.get("till_sale", **where).status_code == 404
            assert device.get("till_sale_status", **where).status_code == 404
            assert device.post("till_choose", {"chain": "tron"}, **where).status_code == 404
            assert device.post("till_cancel", **where).status_code == 404
            checkout.refresh_from_db()
            assert checkout.cancelled_at is None
        assert not AmountReservation.objects.exists()
        assert device.get("till_sale", checkout_id=own).status_code == 200

    def test_its_lists_hold_its_own(self, device: Device) -> None:
        others = self.others(device)
        own = device.sale("3.25")
        shown = text_of(device.get("till_sales"))
        assert own.checkout.public_id in shown
        assert not [checkout for checkout in others if checkout.public_id in shown]
        move(own.checkout, CheckoutStatus.COMPLETED)
        assert "3.25 USD" in text_of(device.get("till_day"))

    def test_the_days_sums_are_shown_only_if_the_merchant_says_so(self, merchant: Merchant) -> None:
        device = paired_device(make_terminal(merchant, shows_day=False))
        assert device.get("till_day").status_code == 404
        assert reverse("till_day") not in text_of(device.get("till"))

    def test_no_page_of_a_device_names_what_is_the_merchants(self, device: Device) -> None:
        sale = device.sale()
        Checkout.objects.update(customer_email="secret@buyer.example", customer_ref="secret-ref")
        for page in (
            device.get("till"),
            device.get("till_sales"),
            device.get("till_sale", checkout_id=sale.checkout.public_id),
        ):
            assert "secret" not in text_of(page)
            assert device.terminal.merchant.public_id not in text_of(page).replace("/brand/", "")


class TestSelling:
    def test_charging_leads_to_the_sale_and_its_code(self, device: Device) -> None:
        sale = device.sale("12.50", "10")
        assert (str(sale.checkout.amount), str(sale.tip)) == ("13.75", "1.25")
        page = text_of(device.get("till_sale", checkout_id=sale.checkout.public_id))
        assert "13.75 USD" in page
        assert 'data-code="page"' in page
        assert "with a tip of 1.25 USD" in page

    def test_pressing_twice_is_one_sale(self, device: Device) -> None:
        form = new_code()
        first, second = device.charge("5.00", form=form), device.charge("5.00", form=form)
        assert first["Location"] == second["Location"]
        assert TerminalSale.objects.count() == 1

    @pytest.mark.parametrize(("amount", "tip"), [("", ""), ("0", ""), ("x", ""), ("5.00", "99"), ("1000001", "")])
    def test_what_cannot_be_charged_is_said(self, amount: str, tip: str, device: Device) -> None:
        answer = device.charge(amount, tip)
        assert answer.status_code == 422
        assert 'role="alert"' in text_of(answer)
        assert not Checkout.objects.exists()

    def test_a_merchant_without_a_wallet_is_told(self, merchant: Merchant) -> None:
        device = paired_device(make_terminal(merchant, Mode.LIVE))
        answer = device.charge()
        assert answer.status_code == 409
        assert "no wallet to be paid to yet" in text_of(answer)

    def test_the_terminals_network_is_first(self, merchant: Merchant) -> None:
        device = paired_device(make_terminal(merchant, chain="tron"))
        answer = device.charge()
        assert answer["Location"].endswith("?chain=tron&token=USDT")
        assert AmountReservation.objects.count() == 1
        page = text_of(device.client.get(answer["Location"]))
        assert 'data-code="tron"' in page

    def test_a_network_that_is_not_offered_is_passed_over(self, merchant: Merchant) -> None:
        device = paired_device(make_terminal(merchant, chain="nowhere"))
        assert "?" not in device.charge()["Location"]

    @pytest.mark.parametrize(("chain", "token"), [("base", "USDC"), ("tron", "USDT"), ("polygon", "USDT")])
    def test_each_network_has_its_code(self, chain: str, token: str, device: Device) -> None:
        sale = device.sale()
        answer = device.post("till_choose", {"chain": chain, "token": token}, checkout_id=sale.checkout.public_id)
        assert answer.status_code == 303
        page = text_of(device.client.get(answer["Location"]))
        assert f'data-code="{chain}"' in page
        again = text_of(device.client.get(f"{answer['Location']}&code=page"))
        assert 'data-code="page"' in again

    def test_an_unpaid_sale_is_cancelled(self, device: Device) -> None:
        sale = device.sale()
        assert device.post("till_cancel", checkout_id=sale.checkout.public_id)["Location"] == "/till/"
        sale.checkout.refresh_from_db()
        assert sale.checkout.cancelled_at is not None
        assert "Cancelled" in text_of(device.get("till_sale", checkout_id=sale.checkout.public_id))

    def test_a_paid_sale_is_green_and_cannot_be_cancelled(self, device: Device) -> None:
        sale = device.sale()
        assert play_due_steps(now=timezone.now() + timedelta(seconds=20))
        page = text_of(device.get("till_sale", checkout_id=sale.checkout.public_id))
        assert "sale--paid" in page
        assert "QR code of the receipt" in page
        answer = device.post("till_cancel", checkout_id=sale.checkout.public_id)
        assert answer.status_code == 409
        sale.checkout.refresh_from_db()
        assert sale.checkout.status == CheckoutStatus.COMPLETED

    def test_the_receipt_of_a_paid_sale_is_mailed_once_to_each_address(self, device: Device) -> None:
        where = {"checkout_id": device.sale().checkout.public_id}
        email = make_member(device.terminal.merchant).email
        unpaid = device.post("till_mail", {"email": email}, **where)
        assert (unpaid.status_code, OutgoingMail.objects.count()) == (409, 0)
        assert "Mail the receipt" not in text_of(device.get("till_sale", **where))
        assert play_due_steps(now=timezone.now() + timedelta(seconds=20))
        assert "Mail the receipt" in text_of(device.get("till_sale", **where))
        for _ in range(2):
            answer = device.post("till_mail", {"email": f" {email} "}, **where)
            assert (answer.status_code, answer["Location"]) == (303, f"/till/sales/{where['checkout_id']}?mailed=1")
        assert [mail.recipient for mail in OutgoingMail.objects.filter(key__startswith="receipt:")] == [email]
        assert "The receipt is on its way" in text_of(device.get("till_sale", "?mailed=1", **where))
        entry = AuditEntry.objects.get(action="checkout.receipt_sent")
        assert entry.actor_label == "terminal Bar"
        assert email not in str(entry.after)
        assert device.client.get(reverse("till_mail", kwargs=where)).status_code == 303

    @pytest.mark.parametrize(
        "email",
        ["", "nobody", "a@b@c", "ann@shop.example\nBcc: x@y.example", "a" * 300, "stranger@shop.example", "\0@x.y"],
    )
    def test_no_receipt_goes_to_what_is_no_address_or_in_test_mode_a_stranger(self, email: str, device: Device) -> None:
        where = {"checkout_id": device.sale().checkout.public_id}
        assert play_due_steps(now=timezone.now() + timedelta(seconds=20))
        answer = device.post("till_mail", {"email": email}, **where)
        assert answer.status_code == 422
        assert 'role="alert"' in text_of(answer)
        assert not OutgoingMail.objects.exists()

    def test_a_stolen_device_floods_nobody_with_receipts(self, device: Device) -> None:
        where = {"checkout_id": device.sale().checkout.public_id}
        assert play_due_steps(now=timezone.now() + timedelta(seconds=20))
        team = [make_member(device.terminal.merchant).email for _ in range(PER_CHECKOUT.most + 1)]
        answers = [device.post("till_mail", {"email": email}, **where) for email in team]
        assert [answer.status_code for answer in answers] == [303] * PER_CHECKOUT.most + [429]
        assert OutgoingMail.objects.count() == PER_CHECKOUT.most

    def test_another_terminals_receipt_is_not_mailed(self, device: Device) -> None:
        other = paired_device().sale().checkout
        answer = device.post("till_mail", {"email": "ann@shop.example"}, checkout_id=other.public_id)
        assert (answer.status_code, OutgoingMail.objects.count()) == (404, 0)

    def test_the_merchants_networks_stand_first_and_the_others_behind_them(self, merchant: Merchant) -> None:
        device = paired_device(make_terminal(merchant, chains=["base", "tron", "nowhere"]))
        sale = device.sale()

        def rows(query: str = "") -> tuple[set[str], set[str]]:
            page = text_of(device.get("till_sale", query, checkout_id=sale.checkout.public_id))
            first, _, others = page.partition('<details class="sale__others">')
            found = (set(re.findall(r'name="chain" value="(\w+)"', part)) for part in (first, others))
            return next(found), next(found)

        first, others = rows()
        assert first == {"base", "tron"}
        assert others == set(sale.checkout.offers) - first
        # The one that is shown stands in the row.
        assert rows("?chain=polygon&token=USDT")[0] == {"base", "tron", "polygon"}

    def test_what_is_left_of_a_part_payment_is_the_exact_amount_where_that_names_the_sale(
        self, merchant: Merchant
    ) -> None:
        device = paired_device(make_terminal(merchant, chains=["base", "tron"]))
        checkout = device.sale().checkout
        move(checkout, CheckoutStatus.UNDERPAID, amount_received=checkout.amount - 2)
        reserve(checkout, 3_200, price=Decimal(2))

        def left(query: str) -> str:
            page = text_of(device.get("till_sale", query, checkout_id=checkout.public_id))
            return page.partition("Still to pay:</small>")[2].partition("</p>")[0].strip()

        assert left("?chain=tron") == "2.0032 USDT"
        assert left("?chain=base").startswith("2.00 ")
        assert left("").startswith("2.00 ")

    def test_a_terminal_without_first_networks_has_one_row(self, device: Device) -> None:
        sale = device.sale()
        assert "Other network" not in text_of(device.get("till_sale", checkout_id=sale.checkout.public_id))

    def test_a_customer_who_pays_from_an_exchange_is_led_to_networks_that_forgive(self, device: Device) -> None:
        sale = device.sale()
        page = text_of(device.get("till_sale", checkout_id=sale.checkout.public_id))
        hint = page.partition("data-exchange>")[2].partition("</p>")[0]
        assert "Paying from an exchange?" in hint
        assert "<b>Base</b>" in hint
        assert "<b>Polygon</b>" in hint
        assert "Tron" not in hint

    def test_test_mode_says_so(self, device: Device) -> None:
        assert "No real money" in text_of(device.get("till"))


class TestStatus:
    def test_an_open_page_is_told_what_changed_and_else_nothing(self, device: Device) -> None:
        where = {"checkout_id": device.sale().checkout.public_id}
        first = device.get("till_sale_status", **where)
        assert first.json()["status"] == "pending"
        address = reverse("till_sale_status", kwargs=where)
        assert device.client.get(address, headers={"If-None-Match": first["ETag"]}).status_code == 304
        play_due_steps(now=timezone.now() + timedelta(seconds=20))
        then = device.client.get(address, headers={"If-None-Match": first["ETag"]})
        assert then.json()["status"] == "completed"
        assert "sale--paid" in then.json()["panel"]

    def test_the_page_keeps_its_network(self, device: Device) -> None:
        where = {"checkout_id": device.sale().checkout.public_id}
        device.post("till_choose", {"chain": "base", "token": "USDC"}, **where)
        panel = device.get("till_sale_status", "?chain=base&token=USDC", **where).json()["panel"]
        assert 'data-code="base"' in panel


class TestRevoking:
    def test_the_next_request_of_a_revoked_device_is_refused(self, device: Device) -> None:
        sale = device.sale()
        where: dict[str, Any] = {"checkout_id": sale.checkout.public_id}
        revoke_terminal(device.terminal, actor=SYSTEM, now=timezone.now())
        assert device.get("till").status_code == 401
        assert device.charge().status_code == 401
        assert device.post("till_cancel", **where).status_code == 401
        # An open page reloads itself by this.
        assert device.get("till_sale_status", **where).json()["status"] == UNPAIRED
        assert "Ask your manager" in text_of(device.get("till_sales"))
        assert TerminalSale.objects.count() == 1

    def test_a_challenge_opens_no_window_of_the_browser(self, client: Client) -> None:
        assert client.get("/till/")["WWW-Authenticate"] == "Terminal"


class TestHowASaleGoesOn:
    def test_one_that_is_short_shows_what_is_missing_and_the_code_to_pay_it(self, merchant: Merchant) -> None:
        make_wallet(merchant)
        device = paired_device(make_terminal(merchant, Mode.LIVE))
        sale = device.sale("7.50")
        pay(sale.checkout, 5 * DOLLAR)
        page = device.get("till_sale", "?chain=base&token=USDC", checkout_id=sale.checkout.public_id)
        assert re.search(r"5\.00 \w+ came\. Still to pay:</small> 2\.50", text_of(page))
        assert page.context["qr"] is not None
        # Money came: it is not cancelled away.
        assert device.post("till_cancel", checkout_id=sale.checkout.public_id).status_code == 409

    def test_one_whose_time_is_over_says_so_and_is_red_once_it_has_ended(self, device: Device) -> None:
        sale = device.sale()
        where: dict[str, Any] = {"checkout_id": sale.checkout.public_id}
        Checkout.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
        assert "The time is over" in text_of(device.get("till_sale", **where))
        move(sale.checkout, CheckoutStatus.EXPIRED)
        page = text_of(device.get("till_sale", **where))
        assert "sale--expired" in page
        assert "Not paid" in page
        assert "New sale" in page

    @pytest.mark.usefixtures("still_window")
    def test_a_terminal_sells_sixty_times_a_minute_and_another_is_not_held_up(self, device: Device) -> None:
        other = paired_device(make_terminal(device.terminal.merchant))
        for _ in range(SALE.most - 1):
            count_client("any", SALE, device.terminal.public_id)
        assert [device.charge().status_code for _ in range(2)] == [303, 429]
        assert TerminalSale.objects.filter(terminal=device.terminal).count() == 1
        assert other.charge().status_code == 303

    @pytest.mark.usefixtures("still_window")
    def test_a_terminal_holds_so_many_exact_amounts_an_hour_and_another_is_not_held_up(self, device: Device) -> None:
        other = paired_device(make_terminal(device.terminal.merchant))
        for _ in range(EXACT_IN_AN_HOUR.most):
            count_client("any", EXACT_IN_AN_HOUR, device.terminal.public_id)
        held = device.post("till_choose", {"chain": "tron"}, checkout_id=device.sale().checkout.public_id)
        assert held["Location"].endswith("?chain=tron"), "the network's card asks again"
        assert not AmountReservation.objects.exists()
        free = other.post("till_choose", {"chain": "tron"}, checkout_id=other.sale().checkout.public_id)
        assert free["Location"].endswith("?chain=tron&token=USDT")
        assert AmountReservation.objects.count() == 1


class TestHeaders:
    def test_pages_are_not_framed_and_not_kept(self, device: Device) -> None:
        answer = device.get("till")
        policy = answer["Content-Security-Policy"]
        assert "frame-ancestors 'none'" in policy
        assert "manifest-src 'self'" in policy
        assert answer["Cache-Control"] == "no-store"
        assert answer["X-Frame-Options"] == "DENY"

    def test_the_manifest_opens_the_keypad(self, client: Client) -> None:
        answer = client.get("/till/manifest.webmanifest")
        body = answer.json()
        assert answer["Content-Type"] == "application/manifest+json"
        assert (body["start_url"], body["scope"], body["display"]) == ("/till/", "/till/", "standalone")
        assert {"192x192", "512x512"} <= {icon["sizes"] for icon in body["icons"]}
        assert {icon["purpose"] for icon in body["icons"]} == {"any", "maskable"}

    def test_one_worker_may_serve_notices_and_the_till(self, client: Client, device: Device) -> None:
        worker = client.get("/notices/worker.js")
        for scope in ("/notices/", "/till/"):
            assert scope.startswith(worker["Service-Worker-Allowed"])
        assert 'data-worker="/notices/worker.js"' in text_of(device.get("till"))
