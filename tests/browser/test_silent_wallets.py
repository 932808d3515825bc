"""Wallets that answer late or never, on claim pages and on pages of batches: each is asked once, and silence is told."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from localnet.anvil import Anvil
from payouts.models import Payout
from payouts.states import Method
from tests.browser.conftest import ANNOUNCE_WALLET
from tests.browser.test_payouts import USE, asked, batch_of, path_of, ready
from tests.dashboard.people import Desk, make_desk
from tests.factories import NOON, WALLET, make_merchant, make_wallet
from tests.payouts.factories import BUYER, OTHER_BUYER

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("chains_are_well")]


@pytest.fixture(autouse=True)
def _now(time_machine: Any) -> None:
    """The clock of the factories."""
    time_machine.move_to(NOON, tick=True)


@pytest.fixture
def owner(db: None) -> Desk:
    """An owner with a second factor, whose merchant receives on Base."""
    merchant = make_merchant()
    make_wallet(merchant)
    return make_desk(merchant, factor=True)


# Shares its account once its owner has unlocked it.
LOCKED = """
const unlocked = new Promise((resolve) => { window.unlock = resolve; });
window.asked = 0;
window.ethereum = {
  async request({ method }) {
    if (method === "eth_chainId") return "0x2105";
    window.asked += 1;
    await unlocked;
    return ["ACCOUNT"];
  },
};
"""
SILENT = "Your wallet has not answered. If it shows a request, answer that one. Otherwise try again."


@pytest.fixture
def claim_locked(page: Page, live_server: Any) -> Callable[[Payout], Page]:
    """A claim page in a browser with a locked wallet, whose button was pressed."""

    def open_one(payout: Payout) -> Page:
        page.add_init_script(LOCKED.replace("ACCOUNT", BUYER))
        page.clock.install()
        page.goto(live_server.url + path_of(payout))
        page.get_by_role("button", name="Use the wallet in this browser").click()
        expect(page.get_by_text("Confirm in your wallet…")).to_be_visible()
        return page

    return open_one


def test_a_wallet_that_stays_silent_may_be_asked_again_and_its_late_answer_counts(
    claim_locked: Callable[[Payout], Page],
) -> None:
    page = claim_locked(asked())
    button = page.get_by_role("button", name="Use the wallet in this browser")
    expect(button).to_be_disabled()
    page.clock.fast_forward("01:01")
    expect(page.get_by_text(SILENT)).to_be_visible()
    expect(button).to_be_enabled()
    page.evaluate("window.unlock()")
    expect(page.get_by_label("Your USDC address on Base")).to_have_value(BUYER)
    expect(page.get_by_role("status")).to_have_text("Filled in from your wallet. Check it before you send it.")


def test_a_late_wallet_does_not_replace_the_address_that_was_typed_meanwhile(
    claim_locked: Callable[[Payout], Page],
) -> None:
    page = claim_locked(asked())
    field = page.get_by_label("Your USDC address on Base")
    field.fill(OTHER_BUYER)
    page.evaluate("window.unlock()")
    expect(page.get_by_role("button", name="Use the wallet in this browser")).to_be_enabled()
    expect(field).to_have_value(OTHER_BUYER)
    expect(page.locator("[data-wallet-message]")).to_be_empty()


def test_a_wallet_that_is_found_while_another_is_asked_opens_no_button(claim_locked: Callable[[Payout], Page]) -> None:
    page = claim_locked(asked())
    page.evaluate(ANNOUNCE_WALLET.replace("NAME", '"Test Wallet"'))
    button = page.get_by_role("button", name=USE)
    expect(button).to_be_disabled()
    expect(page.get_by_text("Confirm in your wallet…")).to_be_visible()
    page.evaluate("window.unlock()")
    expect(button).to_be_enabled()
    expect(page.get_by_label("Your USDC address on Base")).to_have_value(BUYER)


# Is asked, and answers nothing.
MUTE = """
window.asked = 0;
window.ethereum = {
  async request({ method }) {
    if (method === "eth_requestAccounts") return ["ACCOUNT"];
    if (method === "eth_chainId") return "0x2105";
    window.asked += 1;
    return new Promise(() => {});
  },
};
"""


@pytest.mark.parametrize(
    ("method", "verb", "may_ask_again"), [(Method.CALLS, "Send", False), (Method.AUTHORIZATION, "Sign", True)]
)
def test_a_batch_asks_a_wallet_once_and_says_when_it_stays_silent(
    method: Method,
    verb: str,
    may_ask_again: bool,
    open_desk: Callable[..., Page],
    owner: Desk,
    base_node: Anvil,
    usdc: str,
    time_machine: Any,
) -> None:
    # A token says what is signed for it.
    now = datetime.fromtimestamp(int(base_node.block()["timestamp"], 16), UTC)
    time_machine.move_to(now, tick=True)
    batch = batch_of(owner, ready(owner, 1), method, now=now)
    page = open_desk(owner, "dashboard_payout_batch", {"batch_id": batch.public_id})
    page.add_init_script(MUTE.replace("ACCOUNT", WALLET))
    page.clock.install()
    page.reload()
    page.get_by_role("button", name=f"{verb} with your wallet").click()
    page.wait_for_function("() => window.asked === 1")
    # Another wallet comes late: its button is no second way to pay the same.
    page.evaluate(ANNOUNCE_WALLET.replace("NAME", '"Test Wallet"'))
    button = page.get_by_role("button", name=f"{verb} with Test Wallet")
    expect(button).to_be_disabled()
    page.clock.fast_forward("01:01")
    expect(page.get_by_text("Your wallet is busy with another request. Open it first.")).to_be_visible()
    # What we send is paid once however often it is signed; what the wallet sends is not.
    expect(button).to_be_enabled(enabled=may_ask_again)
