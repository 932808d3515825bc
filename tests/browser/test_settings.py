"""Settings in a browser: a wallet in two steps, a key that works at once, a look that is seen before it is saved."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from accounts.audit.actors import Actor
from accounts.audit.service import record
from accounts.keys.authentication import key_cache
from accounts.models import Branding
from tests.browser.conftest import PHONE
from tests.browser.dashboard import look
from tests.dashboard.people import Desk, make_desk
from tests.factories import NOON, WALLET, make_api_request, make_key, make_merchant, make_wallet
from tests.waiting import wait_until
from tests.wallets.signing import Signer
from tests.webhooks.factories import make_deliveries, make_endpoint, new_event
from wallets.models import ReceivingWallet, WalletChange, WalletProof
from wallets.receiving.proofs import message_of
from webhooks.outbox.events import publish

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("empty_chains")]

OTHER = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
GREEN = "rgb(11, 110, 79)"


def test_a_wallet_is_added_then_changed_and_the_change_is_cancelled(
    owner_by_factor: Desk, open_desk: Callable[..., Page]
) -> None:
    page = open_desk(owner_by_factor, "dashboard_receiving_wallets", viewport=PHONE)
    page.get_by_role("link", name="Add a Base wallet").click()
    type_address(page, WALLET)
    page.get_by_role("button", name="Receive here").click()
    expect(page.get_by_role("status")).to_contain_text("You receive on Base")
    assert ReceivingWallet.objects.get().address == WALLET
    page.get_by_role("link", name="Change the Base wallet").click()
    type_address(page, OTHER.lower())
    page.get_by_role("button", name="Ask for the change").click()
    expect(page.get_by_text("Changes on")).to_be_visible()
    page.get_by_role("button", name="Cancel the change").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel it").click()
    expect(page.get_by_role("status")).to_contain_text("Your wallet stays")
    assert WalletChange.objects.get().cancelled_at is not None
    assert ReceivingWallet.objects.get().address == WALLET


def test_a_wallet_in_use_is_proven_by_signing_what_was_copied(
    owner_by_factor: Desk, open_desk: Callable[..., Page], live_server: Any
) -> None:
    signer = Signer("ethereum")
    make_wallet(make_merchant("Squatter Ltd"), "ethereum", signer.address)
    allowed = ["clipboard-read", "clipboard-write"]
    page = open_desk(owner_by_factor, "dashboard_receiving_wallets", permissions=allowed)
    page.get_by_role("link", name="Add a Ethereum wallet").click()
    page.get_by_label("Your address on Ethereum").fill(signer.address)
    page.get_by_role("button", name="Check the address").click()
    page.get_by_label("I compared").check()
    page.get_by_role("button", name="Receive here").click()
    expect(page.get_by_role("heading", name="Prove your Ethereum")).to_be_visible()
    message = copied(page)
    assert message == message_of(WalletProof.objects.get())
    assert look(page, "dashboard_wallet_prove") == []
    page.get_by_label("Signature").fill(signer.sign(message))
    page.get_by_role("button", name="Prove the wallet").click()
    expect(page.get_by_role("status")).to_contain_text("once earlier payments")
    expect(page.get_by_text("Pending:")).to_be_visible()
    assert look(page, "dashboard_wallet_pending") == []
    loser = open_desk(_owner_of_squatter(), "dashboard_receiving_wallets")
    expect(loser.get_by_text("was taken over on")).to_be_visible()
    assert look(loser, "dashboard_wallet_taken_over") == []


def _owner_of_squatter() -> Desk:
    return make_desk(ReceivingWallet.objects.get().merchant)


def copied(page: Page) -> str:
    """What the page's copy button puts on the clipboard, once its script listens."""
    page.wait_for_load_state()
    page.evaluate("navigator.clipboard.writeText('')")
    page.get_by_role("button", name="Copy").click()

    def text() -> str:
        return str(page.evaluate("navigator.clipboard.readText()"))

    # The button says that it copied, but not for long.
    wait_until(text)
    return text()


def type_address(page: Page, address: str) -> None:
    """Go through the first step, and say that the address was compared."""
    page.get_by_label("Your address on Base").fill(address)
    page.get_by_role("button", name="Check the address").click()
    expect(page.get_by_text("Check the bold first and last")).to_be_visible()
    page.get_by_label("I compared").check()


def test_a_key_is_made_works_and_is_revoked(
    owner_by_factor: Desk, open_desk: Callable[..., Page], live_server: Any
) -> None:
    allowed = ["clipboard-read", "clipboard-write"]
    page = open_desk(owner_by_factor, "dashboard_keys", permissions=allowed)
    page.get_by_role("link", name="New key").click()
    expect(page.locator("#id_may_reports")).to_be_hidden()
    page.get_by_label("Chosen one by one").check()
    expect(page.locator("#id_may_reports")).to_be_visible()
    page.locator("[value=shop]").check()
    page.get_by_label("What will use it").fill("Web shop")
    page.get_by_role("button", name="Create key").click()
    secret = copied(page)
    assert page.locator("#secret").inner_text() == secret
    assert secret not in page.url
    assert ask_api(page, live_server, secret) == 200
    page.get_by_role("link", name="I have stored it").click()
    expect(page.get_by_role("cell", name=f"…{secret[-4:]}")).to_be_visible()
    page.get_by_role("link", name="Web shop").click()
    page.get_by_role("button", name="Revoke").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(page.get_by_role("status")).to_contain_text("is revoked")
    key_cache.clear()
    assert ask_api(page, live_server, secret) == 401


def ask_api(page: Page, live_server: Any, secret: str) -> int:
    """Call the API with a key, as a shop's server does."""
    headers = {"Authorization": f"Bearer {secret}"}
    url = f"{live_server.url}/api/v1/checkouts"
    return page.request.get(url, headers=headers).status


def test_the_preview_follows_the_form_without_a_reload(owner_by_factor: Desk, open_desk: Callable[..., Page]) -> None:
    page = open_desk(owner_by_factor, "dashboard_branding")
    page.evaluate("window.isTheSamePage = true")
    page.get_by_label("Accent colour", exact=False).first.fill("#0b6e4f")
    page.get_by_label("Name shown to buyers").fill("<b>Halden</b>")
    for theme in ("light", "dark"):
        button = page.locator(f".preview--{theme} .preview__button")
        expect(button).to_have_css("background-color", GREEN)
        name = page.locator(f".preview--{theme} .preview__merchant")
        expect(name).to_contain_text("<b>Halden</b>")
    page.get_by_label("Accent colour", exact=False).first.fill("#ffe14d")
    expect(page.locator("#preview")).to_contain_text("dark text")
    assert page.evaluate("window.isTheSamePage") is True
    assert not Branding.objects.exists()
    page.get_by_role("button", name="Save the look").click()
    expect(page.get_by_role("status")).to_contain_text("Branding saved")
    assert Branding.objects.get().accent == "#ffe14d"


def test_the_picker_fills_the_field(owner_by_factor: Desk, open_desk: Callable[..., Page]) -> None:
    page = open_desk(owner_by_factor, "dashboard_branding")
    page.get_by_label("Pick the accent colour").fill("#0b6e4f")
    button = page.locator(".preview--light .preview__button")
    expect(button).to_have_css("background-color", GREEN)
    assert page.locator("#id_accent").input_value() == "#0b6e4f"


def furnish(desk: Desk) -> None:
    """Give each page something to show."""
    key, _ = make_key(desk.merchant)
    make_api_request(key)
    make_api_request(key, "/api/v1/checkouts/chk_live_2J7dQ4nVb8Xk1mYt/cancel", status=409, code="checkout_not_pending")
    publish([new_event(desk.merchant)], now=NOON)
    make_deliveries(make_endpoint(desk.merchant, "https://books.example/hook", is_default=False))
    make_wallet(desk.merchant)
    make_wallet(desk.merchant, "solana", "3UJQqKq8Xyx4aVRmHgEwpQZiW7toYRQCTy6Bgp1RdKnK")
    desk.post("dashboard_set_receiving_wallet", {"address": OTHER, "compared": "on"}, chain="base")
    desk.post("dashboard_wallet_wait", {"hours": 2})
    for approvals in (2, 1):
        desk.post("dashboard_set_approvals", {"approvals": approvals, "second_above": "250.00"})
    desk.post("dashboard_branding", {"accent": "#ffe14d", "display_name": "Halden"})
    record(desk.merchant, action="merchant.created", now=NOON, actor=Actor(address="203.0.113.9"))


PAGES = [
    "dashboard_keys",
    "dashboard_create_key",
    "dashboard_api_requests",
    "dashboard_events",
    "dashboard_receiving_wallets",
    "dashboard_approvals",
    "dashboard_branding",
    "dashboard_fees",
    "dashboard_prices",
    "dashboard_months",
    "dashboard_balances",
    "dashboard_audit_log",
    "dashboard_audit_log_check",
    "dashboard_data_export",
    "dashboard_closing",
]


def test_pages_are_accessible_and_fit_the_screen(
    owner_by_factor: Desk, open_desk: Callable[..., Page], live_server: Any
) -> None:
    furnish(owner_by_factor)
    page = open_desk(owner_by_factor, PAGES[0])
    for name in PAGES:
        page.goto(live_server.url + owner_by_factor.url(name))
        assert look(page, name) == [], name


def test_the_steps_of_a_wallet_and_a_new_key_are_accessible_and_fit_the_screen(
    owner_by_factor: Desk, open_desk: Callable[..., Page], complaints: list[str]
) -> None:
    furnish(owner_by_factor)
    page = open_desk(owner_by_factor, "dashboard_receiving_wallets", device_scale_factor=2)
    page.get_by_role("link", name="Change the Solana wallet").click()
    page.get_by_label("Your address on Solana").fill("nonsense")
    page.get_by_role("button", name="Check the address").click()
    assert look(page, "dashboard_wallet_ask") == []
    # The browser reports the status of the refusal.
    assert "status of 422" in complaints.pop()
    page.get_by_label("Your address on Solana").fill("9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM")
    page.get_by_role("button", name="Check the address").click()
    assert look(page, "dashboard_wallet_compare") == []
    page.goto(page.url.split("receiving-wallets")[0] + "api-keys/")
    page.get_by_role("link", name="test", exact=True).click()
    assert look(page, "dashboard_key") == []
    page.get_by_label("Chosen one by one").check()
    assert look(page, "dashboard_key_chosen") == []
    page.goto(page.url.split("api-keys")[0] + "api-keys/create/")
    page.get_by_label("What will use it").fill("Web shop")
    page.get_by_role("button", name="Create key").click()
    assert look(page, "dashboard_key_created") == []
