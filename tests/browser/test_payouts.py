"""Refunds and payouts in a real browser: the claim page without scripts, approving, and paying from a wallet."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from eth_account import Account
from eth_utils.address import to_checksum_address
from playwright.sync_api import BrowserContext, Page, ViewportSize, expect
from solders.keypair import Keypair

from accounts.audit.actors import Actor
from accounts.models import Merchant
from accounts.states import Mode
from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.tokens import balance_of
from localnet.ton.node import TonNode
from localnet.tron import TRON_CHAIN_ID, USDT
from localnet.tron.addresses import to_base58, to_hex
from payouts.batches.relays import send_signed
from payouts.batches.service import Wanted
from payouts.batches.service import make_batch as hand_out
from payouts.lifecycle.claims import claim_code
from payouts.lifecycle.service import cancel_payout, conclude_payout, set_address
from payouts.models import Payout, PayoutBatch
from payouts.states import AddressBy, Method, PayoutStatus
from tests.browser.conftest import StubWallet, WalletRefusalError
from tests.browser.dashboard import look
from tests.browser.injected import StubSolanaWallet, StubTonWallet, forget, solana_buyer, ton_buyer, tron_wallet
from tests.browser.test_links import CUT_OFF
from tests.browser.test_screenshots import faults
from tests.dashboard.people import Desk, make_desk
from tests.factories import NOON, USDC_ON_BASE, WALLET, make_merchant, make_wallet
from tests.payouts.factories import (
    BUYER,
    OTHER_BUYER,
    approved,
    make_paid,
    make_payout,
    outflow_for,
    refund_of,
    status_of,
)
from tests.wallets.signing import Signer
from wallets import browser_wallets
from wallets.models import Transfer
from wallets.networks import chain_spec

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("chains_are_well")]

BASE, POLYGON = 8453, 137
REASON = "Two of six mugs came broken. We are sorry, and send back what they cost."


@pytest.fixture(autouse=True)
def _now(time_machine: Any) -> None:
    """The clock of the factories."""
    time_machine.move_to(NOON, tick=True)


def asked(**values: Any) -> Payout:
    return refund_of(make_paid(), 5_000_000, reason=REASON, **values).payout


def addressed() -> Payout:
    return set_address(asked(), address=BUYER, by=AddressBy.CLAIM, now=NOON)


def paid() -> Payout:
    payout = approved(addressed())
    return conclude_payout(payout, outflow_for(payout), now=NOON)


FACES: dict[str, Callable[[], Payout]] = {
    "open": asked,
    "choices": lambda: asked(choices=[("base", "USDC"), ("polygon", "USDT"), ("ethereum", "USDC")]),
    "requested": addressed,
    "approved": lambda: approved(addressed()),
    "paid": paid,
    "cancelled": lambda: cancel_payout(asked(), now=NOON),
}


def path_of(payout: Payout) -> str:
    return f"/r/{claim_code(payout)}"


@pytest.mark.parametrize("face", FACES)
def test_every_face_of_the_claim_page_is_whole_on_every_screen_and_clean_for_axe(
    face: str, still_page: Page, live_server: Any
) -> None:
    still_page.goto(live_server.url + path_of(FACES[face]()))
    assert faults(still_page, f"claim-{face}", script=CUT_OFF) == []


@pytest.mark.parametrize("scripts", [False, True])
def test_a_recipient_gives_an_address_on_a_narrow_phone_with_and_without_scripts(
    scripts: bool, open_context: Callable[..., BrowserContext], live_server: Any, complaints: list[str]
) -> None:
    context = open_context(java_script_enabled=scripts, viewport={"width": 360, "height": 640})
    page, payout = context.new_page(), asked()
    page.goto(live_server.url + path_of(payout))
    field = page.get_by_label("Your USDC address on Base")
    field.fill(BUYER[:-1])
    page.get_by_role("button", name="Send my address").click()
    expect(page.get_by_role("alert")).to_contain_text("That is not an address on Base.")
    expect(field).to_have_value(BUYER[:-1])
    forget(complaints, "422")
    field.fill(BUYER)
    page.get_by_role("button", name="Send my address").click()
    expect(page.get_by_role("heading", name="We have your address")).to_be_visible()
    assert page.locator("html").evaluate("html => html.scrollWidth") <= 360
    payout.refresh_from_db()
    assert (payout.status, payout.address) == (PayoutStatus.REQUESTED, BUYER)


NARROW: ViewportSize = {"width": 360, "height": 640}
USE = "Use Test Wallet"


def claim_with(wallet: StubWallet, page: Page, live_server: Any, payout: Payout) -> Page:
    """A claim page on a narrow phone, in a browser with a wallet."""
    page.set_viewport_size(NARROW)
    wallet.install(page)
    page.goto(live_server.url + path_of(payout))
    return page


def test_the_wallet_in_the_browser_fills_in_the_address_and_the_recipient_sends_it(
    page: Page, live_server: Any
) -> None:
    wallet, payout = StubWallet(BUYER, POLYGON, lambda method, params: None), asked()
    claim_with(wallet, page, live_server, payout)
    assert page.locator("html").evaluate("html => html.scrollWidth") <= NARROW["width"]
    page.get_by_role("button", name=USE).click()
    expect(page.get_by_label("Your USDC address on Base")).to_have_value(BUYER)
    expect(page.get_by_role("status")).to_have_text("Filled in from your wallet. Check it before you send it.")
    # A contract wallet is there on its own network alone.
    assert wallet.chain_id == BASE
    assert page.locator("html").evaluate("html => html.scrollWidth") <= NARROW["width"]
    assert {method for method, _ in wallet.calls} <= {
        "eth_requestAccounts",
        "eth_chainId",
        "wallet_switchEthereumChain",
    }
    payout.refresh_from_db()
    assert payout.status == PayoutStatus.OPEN
    page.get_by_role("button", name="Send my address").click()
    expect(page.get_by_role("heading", name="We have your address")).to_be_visible()
    payout.refresh_from_db()
    assert (payout.address, payout.address_by) == (BUYER, AddressBy.CLAIM)


def test_a_wallet_that_declines_or_stays_elsewhere_fills_in_nothing(page: Page, live_server: Any) -> None:
    wallet = Stubborn(BUYER, POLYGON, lambda method, params: None)
    claim_with(wallet, page, live_server, asked())
    page.get_by_role("button", name=USE).click()
    expect(page.get_by_role("status")).to_contain_text("Your wallet did not switch to Base.")
    wallet.declines = True
    page.get_by_role("button", name=USE).click()
    expect(page.get_by_role("status")).to_have_text("You cancelled in the wallet. Nothing was sent.")
    expect(page.get_by_label("Your USDC address on Base")).to_have_value("")


@dataclass
class Stubborn(StubWallet):
    """A wallet that stays on its network, and shares no account where it `declines`."""

    declines: bool = False

    def _result(self, method: str, params: list[Any]) -> Any:
        if self.declines and method == "eth_requestAccounts":
            raise WalletRefusalError(4001, "User rejected the request.")
        return None if method == "wallet_switchEthereumChain" else super()._result(method, params)


def test_the_wallets_are_those_of_the_chosen_network(page: Page, live_server: Any, settings: Any) -> None:
    nodes = {name: {"rpc_urls": ["http://127.0.0.1:9/"]} for name in ("solana", "tron")}
    settings.CHAIN_SETTINGS = settings.CHAIN_SETTINGS | nodes
    holder = Keypair.from_seed(bytes(32))
    wallet = StubSolanaWallet(str(holder.pubkey()), 0, lambda method, params: [str(holder.pubkey())])
    choices = [("base", "USDC"), ("solana", "USDC"), ("ton", "USDT")]
    claim_with(wallet, page, live_server, asked(choices=choices))
    button = page.get_by_role("button", name=USE)
    expect(button).to_be_hidden()
    page.get_by_label("Network").select_option("solana:USDC")
    button.click()
    expect(page.get_by_label("Your address")).to_have_value(str(holder.pubkey()))
    for other in ("ton:USDT", "base:USDC"):
        page.get_by_label("Network").select_option(other)
        expect(button).to_be_hidden()


def test_the_payers_wallet_signs_the_message_on_a_narrow_phone(page: Page, live_server: Any) -> None:
    signer = Signer("base")
    checkout = make_paid()
    Transfer.objects.update(sender=signer.address)
    payout = refund_of(checkout, 5_000_000, requires_proof=True).payout

    def answer(method: str, params: list[Any]) -> Any:
        if method == "personal_sign":
            assert params[1] == signer.address
            return signer.sign(bytes.fromhex(params[0].removeprefix("0x")).decode())
        return None

    wallet = StubWallet(signer.address, BASE, answer)
    claim_with(wallet, page, live_server, payout)
    page.get_by_role("button", name="Get the message to sign").click()
    expect(page.get_by_text("Refund address proof")).to_be_visible()
    assert page.locator("html").evaluate("html => html.scrollWidth") <= NARROW["width"]
    assert look(page, "claim-proof", narrowest=360) == []
    page.get_by_role("button", name="Sign with Test Wallet").click()
    expect(page.get_by_role("status")).to_have_text("Signed. Now send your signature.")
    page.get_by_role("button", name="Send my signature").click()
    expect(page.get_by_role("heading", name="We have your address")).to_be_visible()
    payout.refresh_from_db()
    assert (payout.address, payout.proved_at is not None) == (signer.address, True)


# An account of TON, raw and as wallets show it on mainnet.
TON_RAW = "0:" + "ab" * 32


def test_a_wallet_of_ton_fills_in_the_address_as_it_shows_it(page: Page, live_server: Any) -> None:
    friendly = chain_spec("ton").family.shown_address(TON_RAW) or ""
    items = [{"name": "ton_addr", "address": TON_RAW, "network": "-239"}]
    answers = {"connect": {"event": "connect", "id": 1, "payload": {"items": items}}}
    wallet = StubTonWallet(TON_RAW, 0, lambda method, params: answers[method])
    claim_with(wallet, page, live_server, asked(choices=[("base", "USDC"), ("ton", "USDT")]))
    page.get_by_label("Network").select_option("ton:USDT")
    page.get_by_role("button", name=USE).click()
    expect(page.get_by_label("Your address")).to_have_value(friendly)
    [[version, manifest]] = wallet.named("connect")
    assert (version, manifest.endswith("/tonconnect-manifest.json")) == (2, True)
    # The test network's account is another one.
    items[0]["network"] = "-3"
    page.get_by_role("button", name=USE).click()
    expect(page.get_by_role("status")).to_contain_text("Your wallet did not switch to TON.")
    page.get_by_role("button", name="Send my address").click()
    expect(page.get_by_role("heading", name="We have your address")).to_be_visible()
    payout = Payout.objects.get()
    assert (payout.chain, payout.token) == ("ton", "USDT")
    assert chain_spec("ton").family.address_key(payout.address) == chain_spec("ton").family.address_key(TON_RAW)


@pytest.fixture
def owner(db: None) -> Desk:
    """An owner with a second factor, whose merchant receives on Base."""
    merchant = make_merchant()
    make_wallet(merchant)
    return make_desk(merchant, factor=True)


def ready(desk: Desk, count: int = 2) -> list[Payout]:
    addresses = [BUYER, OTHER_BUYER]
    made = [make_payout(desk.merchant, 5_000_000 + n, address=addresses[n % 2]) for n in range(count)]
    return [approved(payout, desk.user) for payout in made]


def batch_of(
    desk: Desk, payouts: list[Payout], method: Method, now: datetime = NOON, wallet: str = WALLET
) -> PayoutBatch:
    wanted = Wanted([payout.public_id for payout in payouts], wallet, method)
    return hand_out(desk.merchant, Mode.LIVE, wanted, actor=Actor(desk.user), now=now)


def test_an_owner_refunds_approves_and_hands_out(open_desk: Callable[..., Page], owner: Desk) -> None:
    checkout = make_paid(owner.merchant)
    page = open_desk(owner, "dashboard_checkout", {"checkout_id": checkout.public_id})
    page.get_by_role("link", name="Refund…").click()
    assert look(page, "dashboard-refund") == []
    page.get_by_label("Amount in USDC").fill("5")
    page.get_by_label("Reason").fill(REASON)
    page.get_by_role("button", name="Create refund").click()
    expect(page.get_by_text("Refund created")).to_be_visible()
    assert look(page, "dashboard-payout-open") == []
    payout = Payout.objects.get()
    set_address(payout, address=BUYER, by=AddressBy.CLAIM, now=NOON)
    page.reload()
    assert look(page, "dashboard-payout-to-approve") == []
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_text("Approved. Pay it under To pay.")).to_be_visible()
    page.goto(page.url.split("/payouts/")[0] + "/payouts/?status=pay")
    assert look(page, "dashboard-payouts-to-pay") == []
    page.get_by_role("button", name="Pay the selected").click()
    expect(page.get_by_label("Paying wallet")).not_to_have_value("")
    assert look(page, "dashboard-payouts-pay") == []
    page.get_by_label("Paying wallet").fill(WALLET)
    page.get_by_label("List and QR codes").check()
    page.get_by_role("button", name="Freeze the list").click()
    expect(page.get_by_role("heading", name="The frozen list")).to_be_visible()
    assert look(page, "dashboard-payout-batch") == []
    page.get_by_role("link", name="QR codes").click()
    expect(page.get_by_role("img", name="QR code of the payment of 5.00 USDC")).to_be_visible()
    assert look(page, "dashboard-payout-codes") == []
    assert status_of(payout) == PayoutStatus.SENDING


def test_two_people_approve_what_is_large_each_in_a_browser_of_their_own(
    open_desk: Callable[..., Page], owner: Desk
) -> None:
    Merchant.objects.update(payout_approvals=2, payout_second_above=1)
    payout = make_payout(owner.merchant)
    pages = [
        open_desk(desk, "dashboard_payout", {"payout_id": payout.public_id})
        for desk in (owner, make_desk(owner.merchant, factor=True))
    ]
    for page in pages:
        expect(page.get_by_text("0 of 2 approvals")).to_be_visible()
    first, second = pages
    first.get_by_role("button", name="Approve").click()
    expect(first.get_by_text("Approved. One more person has to.")).to_be_visible()
    # The same person twice is one person.
    first.get_by_role("button", name="Approve").click()
    expect(first.get_by_text("1 of 2 approvals")).to_be_visible()
    assert status_of(payout) == PayoutStatus.REQUESTED
    # The second page was opened before: it has the address that both saw.
    second.get_by_role("button", name="Approve").click()
    expect(second.get_by_text("Approved. Pay it under To pay.")).to_be_visible()
    assert status_of(payout) == PayoutStatus.APPROVED
    assert payout.approvals.values("user").distinct().count() == 2


def test_an_address_that_changes_between_two_approvals_is_approved_anew_by_both(
    open_desk: Callable[..., Page], owner: Desk
) -> None:
    Merchant.objects.update(payout_approvals=2, payout_second_above=1)
    payout = make_payout(owner.merchant)
    first, second = (
        open_desk(desk, "dashboard_payout", {"payout_id": payout.public_id})
        for desk in (owner, make_desk(owner.merchant, factor=True))
    )
    first.get_by_role("button", name="Approve").click()
    expect(first.get_by_text("Approved. One more person has to.")).to_be_visible()
    set_address(payout, address=OTHER_BUYER, by=AddressBy.API, now=NOON)
    second.get_by_role("button", name="Approve").click()
    expect(second.get_by_text("The address has changed since you looked.")).to_be_visible()
    expect(second.get_by_text("0 of 2 approvals")).to_be_visible()
    for page, said in ((second, "Approved. One more person has to."), (first, "Approved. Pay it under To pay.")):
        page.reload()
        page.get_by_role("button", name="Approve").click()
        expect(page.get_by_text(said)).to_be_visible()
    assert status_of(payout) == PayoutStatus.APPROVED


@pytest.mark.parametrize("scripts", [False, True])
def test_an_owner_approves_a_list_on_a_narrow_phone_with_and_without_scripts(
    scripts: bool, open_desk: Callable[..., Page], owner: Desk, complaints: list[str]
) -> None:
    payouts = [make_payout(owner.merchant, reference=f"payroll-2026-11-{number}") for number in range(3)]
    page = open_desk(owner, "dashboard_payouts", java_script_enabled=scripts, viewport=NARROW)
    for payout in payouts[1:]:
        page.locator(f'input[value="{payout.public_id}"]').check()
    page.get_by_role("button", name="Review the selected").click()
    expect(page.get_by_role("heading", name="Approve 2 payouts")).to_be_visible()
    assert page.locator("html").evaluate("html => html.scrollWidth") <= NARROW["width"]
    set_address(payouts[1], address=OTHER_BUYER, by=AddressBy.API, now=NOON)
    page.get_by_role("button", name="Approve all 2").click()
    expect(page.get_by_role("heading", name="Not all of them were approved")).to_be_visible()
    forget(complaints, "409")
    expect(page.get_by_role("main")).to_contain_text("The address has changed since you looked.")
    assert page.locator("html").evaluate("html => html.scrollWidth") <= NARROW["width"]
    assert [status_of(one) for one in payouts] == [
        PayoutStatus.REQUESTED,
        PayoutStatus.REQUESTED,
        PayoutStatus.APPROVED,
    ]


def test_the_list_to_approve_is_whole_on_every_screen(open_desk: Callable[..., Page], owner: Desk) -> None:
    for number, address in enumerate((BUYER, OTHER_BUYER)):
        make_payout(owner.merchant, 1_234_500_000, address=address, reference=f"payroll-2026-11-{number}")
    alike = to_checksum_address(f"0x{BUYER[2:6]}{'c' * 32}{BUYER[-4:]}")
    make_payout(owner.merchant, address=alike)
    page = open_desk(owner, "dashboard_payouts")
    page.get_by_role("button", name="Review all 3").click()
    expect(page.get_by_role("heading", name="Left out")).to_be_visible()
    assert look(page, "dashboard-payouts-review") == []
    page.get_by_role("button", name="Approve it").click()
    expect(page.get_by_text("1 approved. Pay it under To pay.")).to_be_visible()


def test_the_lists_and_the_import_are_whole_on_every_screen(
    open_desk: Callable[..., Page], owner: Desk, complaints: list[str]
) -> None:
    page = open_desk(owner, "dashboard_payouts")
    expect(page.get_by_text("No payouts yet")).to_be_visible()
    assert look(page, "dashboard-payouts-none") == []
    for number in range(3):
        make_payout(owner.merchant, 1_234_500_000 + number, reference=f"payroll-2026-11-{number}")
    page.reload()
    assert look(page, "dashboard-payouts") == []
    page.get_by_role("link", name="Import CSV").click()
    text = f"address,amount,token,chain,reference\n{BUYER},1,USDC,bitcoin,\n{BUYER[:-1]},1,USDC,base,"
    page.get_by_label("CSV file").set_input_files({"name": "a.csv", "mimeType": "text/csv", "buffer": text.encode()})
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_text("Nothing was imported")).to_be_visible()
    forget(complaints, "422")
    assert look(page, "dashboard-payouts-import") == []


def test_forty_seven_are_signed_in_one_prompt_and_not_twice(open_desk: Callable[..., Page], owner: Desk) -> None:
    payouts = ready(owner, 47)
    batch = batch_of(owner, payouts, Method.CALLS)
    wallet = StubWallet(WALLET, 1, lambda method, params: {"id": "0xb1"})
    page = open_desk(owner, "dashboard_payout_batch", {"batch_id": batch.public_id})
    wallet.install(page)
    page.reload()
    button = page.get_by_role("button", name="Send with Test Wallet")
    expect(button).to_be_visible()
    assert look(page, "dashboard-payout-sign") == []
    button.click()
    sent = page.get_by_text("Sent. The payouts are paid once the network confirms them.")
    expect(sent).to_be_visible()
    [[bundle]] = wallet.named("wallet_sendCalls")
    assert {call["to"] for call in bundle["calls"]} == {USDC_ON_BASE}
    assert len(bundle["calls"]) == 47
    assert bundle["chainId"] == hex(BASE)
    page.reload()
    expect(sent).to_be_visible()
    expect(button).to_be_disabled()
    assert len(wallet.named("wallet_sendCalls")) == 1


def test_after_a_refusal_in_the_middle_only_the_rest_is_asked_for(open_desk: Callable[..., Page], owner: Desk) -> None:
    batch = batch_of(owner, ready(owner, 3), Method.CALLS)
    answers = iter([None, 4001, None, None])

    def answer(method: str, params: list[Any]) -> str:
        if method == "wallet_sendCalls":
            raise WalletRefusalError(4200, "not supported")
        if code := next(answers):
            raise WalletRefusalError(code, "User rejected the request.")
        return "0x" + "ab" * 32

    wallet = StubWallet(WALLET, BASE, answer)
    page = open_desk(owner, "dashboard_payout_batch", {"batch_id": batch.public_id})
    wallet.install(page)
    page.reload()
    button = page.get_by_role("button", name="Send with Test Wallet")
    button.click()
    expect(page.get_by_text("You declined it in your wallet")).to_be_visible()
    button.click()
    expect(page.get_by_text(re.compile("^Sent."))).to_be_visible()
    sent = [params[0]["data"] for params in wallet.named("eth_sendTransaction")]
    # The one that was declined was asked for again, and none that was sent.
    assert len(sent) == 4
    assert len(set(sent)) == 3


def test_a_wallet_signs_each_payment_and_our_gas_account_sends_them(
    open_desk: Callable[..., Page], owner: Desk, base_node: Anvil, usdc: str, time_machine: Any
) -> None:
    now = datetime.fromtimestamp(int(base_node.block()["timestamp"], 16), UTC)
    time_machine.move_to(now, tick=True)
    batch = batch_of(owner, ready(owner), Method.AUTHORIZATION, now=now)
    key = base_node.accounts[1].key
    answers = iter([None, 4001, None])

    def answer(method: str, params: list[Any]) -> str:
        assert method == "eth_signTypedData_v4"
        if code := next(answers):
            raise WalletRefusalError(code, "User rejected the request.")
        return "0x" + bytes(Account.sign_typed_data(key, full_message=json.loads(params[1])).signature).hex()

    wallet = StubWallet(WALLET, 1, answer)
    page = open_desk(owner, "dashboard_payout_batch", {"batch_id": batch.public_id})
    wallet.install(page)
    page.reload()
    button = page.get_by_role("button", name="Sign with Test Wallet")
    expect(button).to_be_visible()
    assert look(page, "dashboard-payout-authorize") == []
    button.click()
    expect(page.get_by_text("You declined it in your wallet. What you signed before is kept.")).to_be_visible()
    button.click()
    expect(page.get_by_text("2 signed, 0 to sign")).to_be_visible()
    # What was signed before the refusal was not asked for again.
    assert len(wallet.named("eth_signTypedData_v4")) == 3
    assert send_signed(now=now) == 2
    assert [balance_of(base_node, usdc, address) for address in (BUYER, OTHER_BUYER)] == [5_000_000, 5_000_001]


@pytest.mark.parametrize("chain", ["solana", "tron"])
def test_a_wallet_signs_our_transactions_one_by_one(
    chain: str, request: pytest.FixtureRequest, open_desk: Callable[..., Page], owner: Desk, settings: Any
) -> None:
    node = request.getfixturevalue(f"{chain}_node")
    settings.CHAIN_NETWORK = "local"
    if chain == "solana":
        settings.CHAIN_SETTINGS = {"SOLANA_RPC_URLS": node.url}
        token, account, recipient = "USDC", str(node.payer.pubkey()), str(Keypair().pubkey())
        wallet: StubWallet = StubSolanaWallet(account, 0, solana_buyer(node, node.payer))
        # What an earlier test's chain had.
        browser_wallets._cashiers.of(chain_spec("solana"))._blockhashes.clear()  # type: ignore[attr-defined]
    else:
        settings.CHAIN_SETTINGS = {"TRON_RPC_URLS": node.url, "TRON_GRID_URLS": node.grid_url}
        token, account, recipient = "USDT", node.payer_address, to_base58(node.anvil.accounts[7].address)
        wallet = tron_wallet(payer(node.anvil), TRON_CHAIN_ID)
    made = [
        approved(make_payout(owner.merchant, 5_000_000 + n, chain=chain, token=token, address=recipient), owner.user)
        for n in range(2)
    ]
    batch = batch_of(owner, made, Method.TRANSACTION, wallet=account)
    page = open_desk(owner, "dashboard_payout_batch", {"batch_id": batch.public_id})
    wallet.install(page)
    page.reload()
    button = page.get_by_role("button", name="Sign with Test Wallet")
    expect(button).to_be_visible()
    assert look(page, f"dashboard-payout-sign-{chain}") == []
    button.click()
    expect(page.get_by_text("2 signed or handed out in the last minutes")).to_be_visible()
    if chain == "solana":
        assert node.balance(recipient) == 10_000_001
    else:
        assert balance_of(node.anvil, to_hex(USDT), to_hex(recipient)) == 10_000_001


def test_a_wallet_of_ton_connect_signs_and_what_it_declined_is_not_asked_for_before_its_end(
    open_desk: Callable[..., Page], owner: Desk, ton_node: TonNode, settings: Any, complaints: list[str]
) -> None:
    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = {"TON_RPC_URLS": ton_node.url, "TON_TOKEN_USDT": ton_node.usdt}
    recipient = ton_node.create_wallet().address
    sent: dict[str, Any] = {"chain": "ton", "token": "USDT", "address": recipient}
    made = [approved(make_payout(owner.merchant, 5_000_000, **sent), owner.user) for _ in range(6)]
    batch = batch_of(owner, made, Method.TRANSACTION, wallet=ton_node.payer.address)
    wallet = StubTonWallet(ton_node.payer.address, 0, ton_buyer(ton_node))
    page = open_desk(owner, "dashboard_payout_batch", {"batch_id": batch.public_id})
    wallet.install(page)
    page.reload()
    button = page.get_by_role("button", name="Sign with Test Wallet")
    button.click()
    expect(page.get_by_text("You declined it in your wallet.")).to_be_visible()
    [[version, manifest]] = wallet.named("connect")
    assert version == 2
    assert manifest.endswith("/tonconnect-manifest.json")
    button.click()
    expect(page.get_by_text("What your wallet was given before may still be paid.")).to_be_visible()
    forget(complaints, "409")
    page.reload()
    # A wallet that tells no number takes four messages.
    expect(page.get_by_text("4 signed or handed out in the last minutes")).to_be_visible()
    button.click()
    expect(page.get_by_text("6 signed or handed out in the last minutes")).to_be_visible()
    assert [len(json.loads(text)["messages"]) for [text] in wallet.named("sendTransaction")] == [4, 2]
    assert ton_node.balance(recipient) == 2 * 5_000_000
