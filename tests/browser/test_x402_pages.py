"""x402 and settlements in a browser: what the pages look like, and settling from a wallet in the browser."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from checkouts.models import DailyTotal
from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.tokens import balance_of, token_address
from settlements.models import GasAccount, Settlement
from settlements.states import Sender, SettlementStatus
from tests.browser.conftest import StubWallet, WalletRefusalError
from tests.browser.dashboard import look
from tests.dashboard.machines import GAS_KEY, make_gas_transaction, make_machine_payment, make_settlement, of_transfer
from tests.dashboard.people import Desk, make_desk
from tests.factories import LOCAL_NODES
from tests.reports.takings import earn, receive
from tests.wallets.factories import address_of, make_deposit, make_watcher, read_all
from tests.wallets.paying import transfer
from tests.x402.recorded import make_machine_transfer, make_payable, make_seller
from wallets.forwarders.addresses import checksum
from wallets.models import DepositAddress
from wallets.states import ClaimKind, TransferState
from x402.states import PaymentStatus, Protocol

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SOLANA = "3UJQqKq8Xyx4aVRmHgEwpQZiW7toYRQCTy6Bgp1RdKnK"
USDC = token_address("USDC")
UNITS = 25_000_000


def widen(page: Page) -> None:
    """Go on at a desk after a page was looked at in every size."""
    page.set_viewport_size({"width": 1280, "height": 900})


def sell_to_machines(desk: Desk, settings: Any) -> None:
    """Payments of every kind, with the transfers of some of them."""
    to = make_seller(desk.merchant, settings)
    now = timezone.now()
    for day in range(29, 0, -1):
        then = now - timedelta(days=day)
        paid = make_machine_transfer(desk.merchant, to, day % 7 * 400_000 + 1, block_time=then)
        of_transfer(paid, now=then)
        if day % 3:
            earn(desk.merchant, 4_000_000, block_time=then)
            bring_in(desk, then, Decimal(day % 5 + 1))
    final = {"state": TransferState.CONFIRMED, "confirmed_at": now}
    for units in (10_000, 2_500_000):
        of_transfer(make_machine_transfer(desk.merchant, to, units, **final))
    make_machine_payment(
        desk.merchant,
        50_000,
        chain="solana",
        tx_hash="5" * 88,
        payer=SOLANA,
        protocol=Protocol.EXACT,
        is_signed=True,
        status=PaymentStatus.SETTLED,
        resource="https://api.example.com/" + "a-long-path/" * 12,
    )
    lost = {"status": PaymentStatus.REVERSED, "reversed_at": now}
    make_machine_payment(desk.merchant, 990_000, resource="", **lost)


def bring_in(desk: Desk, when: datetime, volume: Decimal) -> None:
    """A day's sum of checkouts."""
    DailyTotal.objects.create(
        merchant=desk.merchant,
        mode=desk.mode,
        day=when.date(),
        chain="tron",
        token="USDT",
        completed=3,
        created=5,
        volume=volume,
    )


def test_what_machines_paid_is_seen(open_desk: Callable[..., Page], settings: Any) -> None:
    settings.GAS_KEYS = [GAS_KEY]
    desk = make_desk()
    page = open_desk(desk, "dashboard_x402")
    assert look(page, "dashboard-x402-empty") == []
    widen(page)
    sell_to_machines(desk, settings)
    page.reload()
    expect(page.get_by_text("a-long-path").first).to_be_visible()
    assert look(page, "dashboard-x402") == []
    widen(page)
    page.get_by_label("Status").select_option("Reversed")
    page.get_by_role("button", name="Filter").click()
    expect(page.get_by_text("Unnamed")).to_be_visible()
    main = page.get_by_role("navigation", name="Main")
    main.get_by_role("link", name="Payments", exact=True).click()
    page.get_by_label("Kind").select_option("x402")
    page.get_by_role("button", name="Filter").click()
    expect(page.get_by_role("row")).to_have_count(1 + 25)
    assert look(page, "dashboard-payments-x402") == []
    widen(page)
    main.get_by_role("link", name="Overview").click()
    expect(page.get_by_role("list", name="Colours")).to_contain_text("x402")
    assert look(page, "dashboard-overview-x402") == []


def test_an_owner_sets_up_what_machines_need(
    open_desk: Callable[..., Page], settings: Any, empty_chains: dict[str, str]
) -> None:
    desk = make_desk(factor=True)
    make_payable(desk.merchant, settings)
    nodes = {name: empty_chains[name] for name in ("SOLANA_RPC_URLS", "POLYGON_RPC_URLS")}
    settings.CHAIN_SETTINGS = settings.CHAIN_SETTINGS | nodes
    page = open_desk(desk, "dashboard_x402_setup")
    page.get_by_role("button", name="Show the address on Base").click()
    expect(page.get_by_role("button", name="Base payTo")).to_be_visible()
    page.get_by_role("button", name="Require the payer’s signature").click()
    expect(page.get_by_role("status")).to_contain_text("only with the payer's")
    assert look(page, "dashboard-x402-setup") == []
    widen(page)
    page.get_by_role("link", name="Set a Solana wallet for machines").click()
    assert look(page, "dashboard-x402-wallet") == []
    widen(page)
    page.get_by_label("Your address on Solana").fill(SOLANA)
    page.get_by_role("button", name="Check the address").click()
    assert look(page, "dashboard-x402-compare") == []
    widen(page)
    page.get_by_label("I compared the bold characters").check()
    page.get_by_role("button", name="Have machines pay here").click()
    expect(page.get_by_role("status")).to_contain_text("Machines pay this wallet")


def test_settlements_and_their_gas_are_seen(open_desk: Callable[..., Page], settings: Any) -> None:
    settings.CHAIN_SETTINGS, settings.GAS_KEYS = LOCAL_NODES, [GAS_KEY]
    desk, now = make_desk(), timezone.now()
    page = open_desk(desk, "dashboard_settlements")
    assert look(page, "dashboard-settlements-empty") == []
    widen(page)
    settle_much(desk)
    page.reload()
    expect(page.get_by_text("Gas runs low on Base")).to_be_visible()
    assert look(page, "dashboard-settlements") == []
    widen(page)
    page.get_by_role("link", name="40.00 USDC").click()
    assert look(page, "dashboard-settlement-failed") == []
    widen(page)
    page.get_by_role("link", name="Settlements").last.click()
    page.get_by_role("button", name="Settle USDT on Polygon, Checkouts").click()
    sure = page.get_by_role("dialog", name="Settle USDT on Polygon?")
    sure.get_by_role("button", name="Settle").click()
    expect(page.get_by_role("status")).to_contain_text("1,250.50 USDT on Polygon")
    assert Settlement.objects.filter(created_at__gte=now, batch__gt="").exists()


def settle_much(desk: Desk) -> None:
    """Forwarders that wait, and settlements of each kind; the gas account runs low."""
    now = timezone.now()
    receive(desk.merchant, 1_250_500_000, chain="polygon", token="USDT")
    made = make_gas_transaction(now=now)
    GasAccount.objects.filter(pk=made.account.pk).update(balance_wei=Decimal(10) ** 15, balance_at=now)
    deposit = receive(desk.merchant, UNITS).deposit
    make_settlement(desk.merchant, UNITS, transaction=made, deposit=deposit)
    make_settlement(desk.merchant, 1_000_000, sender=Sender.EXTERNAL)
    make_settlement(desk.merchant, 50_000, status=SettlementStatus.PENDING, purpose=ClaimKind.X402)
    make_settlement(
        desk.merchant,
        40_000_000,
        status=SettlementStatus.FAILED,
        error="Its gas would cost too much of what it moves: the money waits for more, or for cheaper gas.",
        deposit=receive(desk.merchant, 40_000_000, chain="polygon").deposit,
    )


@pytest.fixture
def deposit(base_node: Anvil, settings: Any) -> DepositAddress:
    """A forwarder on the local chain that holds 25 USDC for good, as its watcher knows; there is no gas key."""
    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": base_node.url, "BASE_TOKEN_USDC": USDC, "BASE_CONFIRMATIONS": "6"}
    watcher = make_watcher(base_node.url)
    read_all(watcher)
    made = make_deposit()
    transfer(base_node, payer(base_node), USDC, address_of(made), UNITS)
    base_node.mine(6)
    read_all(watcher)
    watcher.close()
    return made


def test_a_browser_wallet_sends_the_money_to_the_merchants_wallet(
    open_desk: Callable[..., Page], deposit: DepositAddress, base_node: Anvil
) -> None:
    account, answers = base_node.accounts[4], iter([False, True])

    def answer(method: str, params: list[Any]) -> str:
        assert method == "eth_sendTransaction"
        if not next(answers):
            raise WalletRefusalError(4001, "User rejected the request.")
        [call] = params
        data, gas = bytes.fromhex(call["data"][2:]), int(call["gas"], 16)
        return base_node.send(account, to=call["to"], data=data, gas=gas)

    wallet = checksum(bytes(deposit.destination))
    before = balance_of(base_node, USDC, wallet)
    page = open_desk(make_desk(deposit.merchant), "dashboard_settlements")
    page.get_by_role("button", name="Settle USDC on Base, Checkouts").click()
    # No wallet is there yet: the call stands there to be copied.
    expect(page.get_by_role("region", name="Data")).to_be_visible()
    assert look(page, "dashboard-settle-by-hand") == []
    widen(page)
    stub = StubWallet(account.address, 1, answer)
    stub.install(page)
    page.reload()
    expect(page.get_by_role("region", name="Data")).to_be_hidden()
    send = page.get_by_role("button", name="Send with Test Wallet")
    send.click()
    expect(page.get_by_text("You declined it in your wallet")).to_be_visible()
    assert look(page, "dashboard-settle-by-wallet") == []
    widen(page)
    send.click()
    expect(page).to_have_url(re.compile(r"/settlements/$"))
    expect(page.get_by_role("status")).to_contain_text("Saved")
    made = Settlement.objects.get()
    base_node.receipt(made.tx_hash)
    assert made.status == SettlementStatus.SENT
    assert balance_of(base_node, USDC, wallet) == before + UNITS
    assert stub.chain_id == base_node.chain_id
