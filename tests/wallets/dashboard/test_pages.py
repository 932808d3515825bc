"""The pages of receiving wallets: two steps to a new address, a wait for another, and who may do any of it."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import AuditEntry, Merchant
from accounts.states import Mode, Role
from checkouts.reservations import choose_exact_amount
from localnet.anvil import Anvil
from mails.models import OutgoingMail
from tests.checkouts.factories import EXACT_OFFERS, make_chains_well, make_page_checkout
from tests.dashboard.people import Desk, log_in, make_desk
from tests.factories import WALLET, make_merchant, make_wallet
from tests.nodes.answering import answering_code
from wallets.models import ReceivingWallet, WalletChange
from wallets.receiving import mails

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_chains")]

OTHER = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
CHAINS = ["Base", "Polygon", "Solana", "TON", "Tron", "Ethereum"]
# One address of each chain, as a wallet shows it.
ADDRESSES = {
    "base": WALLET,
    "polygon": WALLET,
    "ethereum": WALLET,
    "solana": "3UJQqKq8Xyx4aVRmHgEwpQZiW7toYRQCTy6Bgp1RdKnK",
    "ton": "EQDYzZmfsrGzhObKJUw4gzdeIxEai3jAFbiGKGwxvxHinaPP",
    "tron": "TJRabPrwbZy45sbavfcjinPJC18kjpRTv8",
}


def set_wallet(desk: Desk, address: str, chain: str = "base", **more: str) -> Any:
    sent = {"address": address, "compared": "on"} | more
    return desk.post("dashboard_set_receiving_wallet", sent, chain=chain)


def wait_for(merchant: Merchant, desk: Desk) -> WalletChange:
    make_wallet(merchant)
    set_wallet(desk, OTHER)
    return WalletChange.objects.get()


def test_the_page_has_a_row_for_each_of_the_six_chains(owner_by_factor: Desk) -> None:
    page = owner_by_factor.get("dashboard_receiving_wallets").text
    missing = [title for title in CHAINS if f"Add a {title} wallet" not in page]
    assert missing == []


@pytest.mark.parametrize("chain", sorted(ADDRESSES))
def test_a_first_wallet_takes_two_steps_and_is_there_at_once(owner_by_factor: Desk, chain: str) -> None:
    typed = {"address": f" {ADDRESSES[chain]} "}
    compare = owner_by_factor.post("dashboard_receiving_wallet", typed, chain=chain)
    assert "Check the bold first and last characters" in compare.text
    assert not ReceivingWallet.objects.exists()
    assert set_wallet(owner_by_factor, ADDRESSES[chain], chain).status_code == 302
    assert ReceivingWallet.objects.get().address == ADDRESSES[chain]
    assert "You receive on" in owner_by_factor.get("dashboard_receiving_wallets").text
    entry = AuditEntry.objects.get(action="receiving_wallet.set")
    assert (entry.actor, entry.address) == (owner_by_factor.user, "127.0.0.1")


def test_a_ton_wallet_reads_for_its_merchant_as_it_reads_for_buyers(
    owner_by_factor: Desk, merchant: Merchant, settings: Any, empty_chains: dict[str, str]
) -> None:
    make_chains_well(settings)
    settings.CHAIN_SETTINGS = settings.CHAIN_SETTINGS | empty_chains
    shown = "UQDYzZmfsrGzhObKJUw4gzdeIxEai3jAFbiGKGwxvxHinf4K"
    typed = {"address": shown}
    compare = owner_by_factor.post("dashboard_receiving_wallet", typed, chain="ton")
    set_wallet(owner_by_factor, shown, "ton")
    page = owner_by_factor.get("dashboard_receiving_wallets")
    offers = {"ton": EXACT_OFFERS["ton"] | {"wallet": ADDRESSES["ton"]}}
    checkout = make_page_checkout(merchant, offers=offers)
    choose_exact_amount(checkout.pk, now=timezone.now())
    detail = owner_by_factor.get("dashboard_checkout", checkout_id=checkout.public_id)
    buyers = Client().get(f"/c/{checkout.code}?chain=ton")
    for answer in (compare.text, page.text, detail.text, buyers.content.decode()):
        assert shown in re.sub(r"<[^>]*>|\s", "", answer)
    ReceivingWallet.objects.update(retired_at=timezone.now(), taken_over_at=timezone.now())
    taken = owner_by_factor.get("dashboard_receiving_wallets").text
    assert f"Your wallet {shown[:15]}… was taken over" in taken


def test_each_page_that_asks_for_a_test_payment_says_to_pay_it_from_another_wallet(owner_by_factor: Desk) -> None:
    compare = owner_by_factor.post("dashboard_receiving_wallet", {"address": WALLET}, chain="base").text
    assert "pay it from another wallet than this one" in compare
    page = owner_by_factor.get("dashboard_receiving_wallets").text
    assert "pay it from another wallet, such as an exchange account" in page
    assert "a transfer to oneself moves no money, so no checkout counts it" in page
    assert "pay it from another wallet" in mails._APPLIED


def test_nothing_is_set_before_it_was_compared(owner_by_factor: Desk) -> None:
    answer = set_wallet(owner_by_factor, WALLET, compared="")
    assert answer.status_code == 422
    assert "Compare them first" in answer.text
    assert not ReceivingWallet.objects.exists()


def test_what_is_wrong_with_an_address_is_said_in_words_at_both_steps(owner_by_factor: Desk) -> None:
    address = WALLET.replace("C", "c", 1)
    first = owner_by_factor.post("dashboard_receiving_wallet", {"address": address}, chain="base")
    for answer in (first, set_wallet(owner_by_factor, address)):
        assert answer.status_code == 422
        assert "a character was mistyped" in answer.text
    assert not ReceivingWallet.objects.exists()


def test_another_wallet_waits_and_any_owner_cancels_it(merchant: Merchant, owner_by_factor: Desk) -> None:
    change = wait_for(merchant, owner_by_factor)
    assert change.effective_at - change.requested_at == timedelta(hours=24)
    second = make_desk(merchant)
    page = second.get("dashboard_receiving_wallets").text
    assert owner_by_factor.user.email in page
    assert "Cancel the change" in page
    second.post("dashboard_cancel_wallet_change", change_id=change.pk)
    change.refresh_from_db()
    assert change.cancelled_at is not None
    assert ReceivingWallet.objects.get().address == WALLET


def test_a_second_change_while_one_waits_is_told_so(merchant: Merchant, owner_by_factor: Desk) -> None:
    wait_for(merchant, owner_by_factor)
    answer = set_wallet(owner_by_factor, "0x90F79bf6EB2c4f870365E785982E1f101E93b906")
    assert answer.status_code == 409
    assert "waits on this chain already" in answer.text


def test_what_does_not_wait_any_more_cannot_be_cancelled(merchant: Merchant, owner_by_factor: Desk) -> None:
    change = wait_for(merchant, owner_by_factor)
    WalletChange.objects.update(applied_at=timezone.now())
    owner_by_factor.post("dashboard_cancel_wallet_change", change_id=change.pk)
    assert "does not wait any more" in owner_by_factor.get("dashboard_receiving_wallets").text
    change.refresh_from_db()
    assert change.cancelled_at is None


def test_why_a_change_was_refused_is_on_the_page(merchant: Merchant, owner_by_factor: Desk) -> None:
    wait_for(merchant, owner_by_factor)
    WalletChange.objects.update(failed_at=timezone.now(), failure="Somebody has it.")
    assert "Somebody has it." in owner_by_factor.get("dashboard_receiving_wallets").text


@pytest.mark.parametrize("role", [Role.ADMIN, Role.VIEWER])
def test_others_see_the_wallets_and_change_nothing(merchant: Merchant, owner_by_factor: Desk, role: Role) -> None:
    change = wait_for(merchant, owner_by_factor)
    desk = make_desk(merchant, role)
    page = desk.get("dashboard_receiving_wallets").text
    assert WALLET[8:-6] in page
    assert "Cancel the change" not in page
    assert desk.get("dashboard_receiving_wallet", chain="tron").status_code == 403
    assert set_wallet(desk, ADDRESSES["tron"], "tron").status_code == 403
    cancelled = desk.post("dashboard_cancel_wallet_change", change_id=change.pk)
    assert cancelled.status_code == 403
    assert desk.post("dashboard_wallet_wait", {"hours": 0}).status_code == 403


def test_another_merchants_change_is_not_there(owner_by_factor: Desk) -> None:
    other = make_desk(factor=True)
    change = wait_for(other.merchant, other)
    answer = owner_by_factor.post("dashboard_cancel_wallet_change", change_id=change.pk)
    assert answer.status_code == 404
    assert WALLET[8:-6] not in owner_by_factor.get("dashboard_receiving_wallets").text


def test_a_chain_that_does_not_exist_is_no_page(owner_by_factor: Desk) -> None:
    assert owner_by_factor.get("dashboard_receiving_wallet", chain="bitcoin").status_code == 404
    assert set_wallet(owner_by_factor, WALLET, "bitcoin").status_code == 404


def test_test_mode_shows_the_wallets_of_live_payments(merchant: Merchant, owner_by_factor: Desk) -> None:
    make_wallet(merchant)
    owner_by_factor.mode = Mode.TEST
    page = owner_by_factor.get("dashboard_receiving_wallets").text
    assert "Test mode moves no money" in page
    assert WALLET[8:-6] in page


def test_a_form_says_the_address_and_nothing_else(merchant: Merchant, owner_by_factor: Desk) -> None:
    make_wallet(merchant)
    forged = {
        "address": OTHER,
        "compared": "on",
        "effective_at": "2020-01-01",
        "applied_at": "2020-01-01",
        "merchant": str(make_merchant().pk),
        "chain": "polygon",
        "requested_by": "1",
    }
    owner_by_factor.post("dashboard_set_receiving_wallet", forged, chain="base")
    change = WalletChange.objects.get()
    assert (change.merchant, change.chain) == (merchant, "base")
    assert change.requested_by == owner_by_factor.user
    assert change.is_open
    assert change.effective_at > timezone.now() + timedelta(hours=23)


def test_an_address_that_is_a_script_is_only_words(owner_by_factor: Desk) -> None:
    script = "<script>alert(1)</script>"
    for answer in (
        owner_by_factor.post("dashboard_receiving_wallet", {"address": script}, chain="base"),
        set_wallet(owner_by_factor, script),
    ):
        assert answer.status_code == 422
        assert script not in answer.text


def test_a_form_of_another_site_sets_no_wallet(owner_by_factor: Desk) -> None:
    client = log_in(owner_by_factor.user, enforce_csrf_checks=True)
    url = owner_by_factor.url("dashboard_set_receiving_wallet", chain="base")
    answer = client.post(url, {"address": WALLET, "compared": "on"})
    assert answer.status_code == 403
    assert not ReceivingWallet.objects.exists()


def test_a_shorter_wait_waits_itself_and_mails_the_owners(merchant: Merchant, owner_by_factor: Desk) -> None:
    owner_by_factor.post("dashboard_wallet_wait", {"hours": 1})
    merchant.refresh_from_db()
    assert merchant.wallet_change_hours == 24
    assert "Becomes 1 hour on" in owner_by_factor.get("dashboard_receiving_wallets").text
    assert OutgoingMail.objects.get().recipient == owner_by_factor.user.email


def test_a_wait_that_is_too_long_is_refused(owner_by_factor: Desk) -> None:
    assert owner_by_factor.post("dashboard_wallet_wait", {"hours": "169"}).status_code == 422


SAFE = {"a0e67e2b": [32, 1, 7], "e75235b8": [1]}
TOKEN = {"313ce567": [6], "18160ddd": [1]}


def test_an_address_that_the_network_calls_a_token_is_refused_at_both_steps(
    owner_by_factor: Desk, base_node: Anvil, settings: Any
) -> None:
    settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": base_node.url}
    base_node.rpc("anvil_setCode", OTHER, answering_code(TOKEN))
    first = owner_by_factor.post("dashboard_receiving_wallet", {"address": OTHER}, chain="base")
    for answer in (first, set_wallet(owner_by_factor, OTHER), set_wallet(owner_by_factor, OTHER, sign="on")):
        assert answer.status_code == 422
        assert "is a token contract" in answer.text
    assert not ReceivingWallet.objects.exists()


def test_a_contract_wallet_is_stored_once_its_network_was_typed(
    owner_by_factor: Desk, base_node: Anvil, settings: Any
) -> None:
    settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": base_node.url}
    base_node.rpc("anvil_setCode", OTHER, answering_code(SAFE))
    typed = {"address": OTHER}
    compare = owner_by_factor.post("dashboard_receiving_wallet", typed, chain="base")
    for answer in (compare, set_wallet(owner_by_factor, OTHER), set_wallet(owner_by_factor, OTHER, typed="x")):
        assert "a contract on Base" in answer.text
        assert "Type Base to confirm it" in answer.text
    assert not ReceivingWallet.objects.exists()
    assert set_wallet(owner_by_factor, OTHER, typed=" base ").status_code == 302
    assert ReceivingWallet.objects.get().address == OTHER


def test_a_contract_wallet_is_proven_instead_where_contracts_sign(
    owner_by_factor: Desk, base_node: Anvil, settings: Any
) -> None:
    settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": base_node.url}
    base_node.rpc("anvil_setCode", OTHER, answering_code(SAFE))
    answer = set_wallet(owner_by_factor, OTHER, sign="on")
    assert answer["Location"].endswith("/")
    assert "Sign this message" in owner_by_factor.client.get(answer["Location"]).content.decode()
    assert not ReceivingWallet.objects.exists()


@pytest.mark.parametrize("nodes", [{}, {"BASE_RPC_URLS": "http://127.0.0.1:1"}])
def test_while_no_node_can_say_what_an_address_is_nothing_is_stored(
    owner_by_factor: Desk, settings: Any, nodes: dict[str, str]
) -> None:
    settings.CHAIN_SETTINGS = nodes
    first = owner_by_factor.post("dashboard_receiving_wallet", {"address": OTHER}, chain="base")
    for answer in (first, set_wallet(owner_by_factor, OTHER), set_wallet(owner_by_factor, OTHER, sign="on")):
        assert answer.status_code == 503
        assert "Nothing was saved" in answer.text
    assert not ReceivingWallet.objects.exists()
