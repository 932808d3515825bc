"""The page that checks signed receipts, in a real browser: served, saved, and without a network."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from accounts.brand.facts import with_brand
from accounts.states import Mode
from checkouts.lifecycle.signed_receipts import signed_receipt
from checkouts.models import Checkout
from checkouts.states import CheckoutException, CheckoutStatus
from gateway.core.signing import KeyPurpose, SigningKey, claims_of, sign_plain
from tests.browser.test_screenshots import faults, scanned
from tests.checkouts.factories import make_completed, move
from tests.contract.client import client_of
from tests.factories import NOON, USDC_ON_BASE
from tests.tree import ROOT
from tests.x402.exact.bodies import RESOURCE, body_of
from tests.x402.exact.calls import settle
from tests.x402.exact.test_forms import told_to
from x402.models import Authorization, X402Payment
from x402.states import PaymentStatus

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("chains_are_well")]

# Any one of these is said of a receipt that is not what was signed.
REFUSED = re.compile("^(forged|unreadable|unknown)$")


@pytest.fixture(autouse=True)
def _here(live_server: Any, settings: Any) -> None:
    settings.BASE_URL = settings.CHECKOUT_HOST = live_server.url


def token_of(checkout: Checkout) -> str:
    return signed_receipt(with_brand(Checkout.objects.all()).get(pk=checkout.pk), now=NOON).decode()


def said(page: Page, kind: str = "outcome") -> Any:
    """The words that are shown, of an outcome or of a status."""
    return page.locator(f"[data-{kind}]:not([hidden])")


def check(page: Page, token: str) -> None:
    page.get_by_label("Its text").fill(token)
    page.get_by_role("button", name="Check receipt").click()


def saved(page: Page, folder: Path) -> str:
    """Save the page as browsers do: what is in it, with its script beside it. Return the file's address."""
    (folder / "verify_files").mkdir()
    shutil.copy(ROOT / "static/js/verify.js", folder / "verify_files")
    html = re.sub(r"<link\b[^>]*>", "", page.content())
    html, count = re.subn(r'src="[^"]*/verify[^"/]*\.js"', 'src="verify_files/verify.js"', html)
    assert count == 1
    (folder / "verify.html").write_text(html)
    return (folder / "verify.html").as_uri()


def test_a_file_is_checked_and_the_server_says_what_became_of_the_payment(
    page: Page, live_server: Any, tmp_path: Path
) -> None:
    checkout = make_completed()
    (tmp_path / "receipt.jws").write_text(token_of(checkout) + "\n")
    page.goto(f"{live_server.url}/verify")
    page.get_by_label("Receipt", exact=True).set_input_files(tmp_path / "receipt.jws")
    expect(said(page)).to_have_attribute("data-outcome", "genuine")
    expect(said(page, "status")).to_have_attribute("data-status", "paid")
    expect(page.locator("#merchant")).to_have_text("Halden Roasters")
    expect(page.locator("#amount")).to_have_text("49.00 USD")
    expect(page.locator("#claims")).to_contain_text(checkout.public_id)
    move(checkout, CheckoutStatus.COMPLETED, exception=CheckoutException.REVERSED)
    page.get_by_role("button", name="Check receipt").click()
    expect(said(page, "status")).to_have_attribute("data-status", "reversed")
    expect(said(page)).to_have_attribute("data-outcome", "genuine")


def test_a_saved_page_checks_receipts_without_a_network(
    page: Page, open_context: Any, live_server: Any, tmp_path: Path
) -> None:
    genuine, test = token_of(make_completed()), token_of(make_completed(mode=Mode.TEST))
    page.goto(f"{live_server.url}/verify")
    address = saved(page, tmp_path)
    context: BrowserContext = open_context(offline=True)
    alone = context.new_page()
    alone.goto(address)
    check(alone, genuine)
    expect(said(alone)).to_have_attribute("data-outcome", "genuine")
    expect(said(alone, "status")).to_have_attribute("data-status", "silent")
    expect(alone.locator("#issuer")).to_have_text(claims_of(genuine.encode())["iss"])
    check(alone, test)
    expect(said(alone)).to_have_attribute("data-outcome", "test")
    check(alone, f"{genuine[:-20]}{'A' if genuine[-20] != 'A' else 'B'}{genuine[-19:]}")
    expect(said(alone)).to_have_attribute("data-outcome", REFUSED)


def test_one_flipped_bit_anywhere_is_noticed(page: Page, live_server: Any) -> None:
    token = token_of(make_completed())
    page.goto(f"{live_server.url}/verify")
    places = [*range(0, len(token), 97), len(token) - 2, len(token) - 1]
    for place in places:
        for bit in (1, 2, 4):
            changed = chr(ord(token[place]) ^ bit)
            check(page, f"{token[:place]}{changed}{token[place + 1 :]}")
            expect(said(page)).to_have_attribute("data-outcome", REFUSED)
            expect(page.locator("#facts")).to_be_hidden()
    check(page, token)
    expect(said(page)).to_have_attribute("data-outcome", "genuine")


def test_each_vector_of_the_clients_has_its_outcome(page: Page, live_server: Any) -> None:
    vectors = json.loads((ROOT / "clients/conformance/receipts.json").read_text())
    page.goto(f"{live_server.url}/verify")
    page.locator("summary").click()
    page.locator("#keys").fill(json.dumps(vectors["jwks"]))
    for case in [*vectors["cases"], *vectors["x402"]]:
        check(page, case["token"])
        expect(said(page), case["name"]).to_have_attribute("data-outcome", case["outcome"])


def test_an_offer_of_machines_is_no_proof_of_a_payment(page: Page, live_server: Any) -> None:
    told = {"version": 1, "resourceUrl": "https://shop.example/report", "network": "eip155:8453"}
    paid = sign_plain(told | {"payer": "0x70", "issuedAt": 1796000000}, KeyPurpose.RECEIPT, now=NOON)
    asked = sign_plain(told | {"payTo": "0xdEaD", "amount": "10000", "asset": "0x83"}, KeyPurpose.RECEIPT, now=NOON)
    page.goto(f"{live_server.url}/verify")
    check(page, paid.token.decode())
    expect(said(page)).to_have_attribute("data-outcome", "x402-receipt")
    expect(page.locator("#resource")).to_have_text("https://shop.example/report")
    expect(page.locator("#paid")).to_have_text("2026-11-30T00:53:20.000Z")
    # There is no address to ask, and no row without words.
    expect(said(page, "status")).to_have_count(0)
    expect(page.locator("#merchant")).to_be_hidden()
    check(page, asked.token.decode())
    expect(said(page)).to_have_attribute("data-outcome", "x402-offer")
    expect(said(page)).to_contain_text("no proof of a payment")
    expect(page.locator("#amount")).to_have_text("10000 base units of 0x83")
    expect(page.locator("#paid")).to_be_hidden()


def test_the_server_says_what_became_of_a_machines_payment(page: Page, live_server: Any, complaints: list[str]) -> None:
    tester = client_of(mode=Mode.TEST)
    settled = settle(tester, body_of(told_to(tester), USDC_ON_BASE) | {"receiptFor": RESOURCE})
    page.goto(f"{live_server.url}/verify")
    check(page, settled["extensions"]["offer-receipt"]["info"]["receipt"]["signature"])
    expect(said(page)).to_have_attribute("data-outcome", "test")
    expect(said(page, "status")).to_have_attribute("data-status", "paid")
    X402Payment.objects.update(status=PaymentStatus.REVERSED)
    page.get_by_role("button", name="Check receipt").click()
    expect(said(page, "status")).to_have_attribute("data-status", "reversed")
    Authorization.objects.update(receipt_for="")
    page.get_by_role("button", name="Check receipt").click()
    expect(said(page, "status")).to_have_attribute("data-status", "unlisted")
    # The browser's own line about status 404.
    complaints.clear()


def test_a_withdrawn_key_an_unknown_one_and_no_receipt_are_told_apart(page: Page, live_server: Any) -> None:
    token = token_of(make_completed())
    page.goto(f"{live_server.url}/verify")
    page.locator("summary").click()
    page.locator("#keys").fill('{"keys": []}')
    check(page, token)
    expect(said(page)).to_have_attribute("data-outcome", "unknown")
    page.locator("#keys").fill("[]")
    check(page, token)
    expect(said(page)).to_have_attribute("data-outcome", "keyless")
    check(page, "no receipt")
    expect(said(page)).to_have_attribute("data-outcome", "unreadable")
    SigningKey.objects.filter(purpose="receipt").update(until=NOON)
    page.goto(f"{live_server.url}/verify")
    check(page, token)
    expect(said(page)).to_have_attribute("data-outcome", "withdrawn")
    expect(said(page, "status")).to_have_attribute("data-status", "paid")


def test_the_code_on_a_printed_receipt_leads_to_its_check(page: Page, live_server: Any) -> None:
    checkout = make_completed()
    page.goto(f"{live_server.url}/c/{checkout.code}/receipt")
    expect(page.locator(".paper__proof")).to_be_hidden()
    page.emulate_media(media="print")
    expect(page.locator(".paper__proof")).to_be_visible()
    address = scanned(page, ".paper__proof")
    assert address == f"{live_server.url}/verify#{checkout.code}"
    page.emulate_media(media="screen")
    page.goto(address)
    expect(said(page)).to_have_attribute("data-outcome", "genuine")
    expect(page.locator("#claims")).to_contain_text(checkout.public_id)


def test_it_is_whole_on_every_screen_and_clean_for_axe(still_page: Page, live_server: Any) -> None:
    still_page.goto(f"{live_server.url}/verify")
    still_page.locator("summary").click()
    check(still_page, token_of(make_completed()))
    expect(said(still_page)).to_have_attribute("data-outcome", "genuine")
    assert faults(still_page, "verify") == []
