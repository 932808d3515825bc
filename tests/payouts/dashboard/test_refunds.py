"""The forms of refunds of money in the inbox, and of refunds and payouts that were sent by another way than a batch."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.states import Mode
from checkouts.models import Checkout, InboxItem
from checkouts.states import InboxReason, InboxStatus
from demo.nodes.factory import prepare_chain
from gateway.core.money import from_units
from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.tokens import token_address, transfer
from payouts.following.service import follow_movements
from payouts.models import Payout
from payouts.states import AddressBy, PayoutStatus
from tests.checkouts.inboxes import extra_item
from tests.checkouts.watcher import DOLLAR
from tests.dashboard.machines import make_machine_payment, of_transfer
from tests.dashboard.people import Desk, make_desk
from tests.payouts.factories import BUYER, OTHER_BUYER, approved, make_payout, promised
from tests.reports.test_transactions_nodes import connect
from tests.wallets.days import make_watched
from tests.x402.recorded import make_machine_transfer, make_seller
from wallets.models import Transfer, WatchedMovement, WatchedWallet
from wallets.states import Direction, TransferState, WatchPurpose
from wallets.transfers.movements import answer_for_movements

pytestmark = pytest.mark.django_db

REFUND, SENT = "dashboard_refund_item", "dashboard_sent_refund_item"
UNKNOWN = "0x" + "5a" * 32


@pytest.fixture(autouse=True)
def _no_bells(settings: Any) -> None:
    """The test follows by hand."""
    settings.MOVEMENT_CONSUMERS = []


@pytest.fixture
def base(base_node: Anvil, settings: Any) -> Anvil:
    """Base, with the tokens on it, as the only chain that can be asked."""
    prepare_chain(base_node)
    connect(settings, base=base_node.url)
    return base_node


@pytest.fixture
def item(owner: Desk) -> InboxItem:
    """Twenty-five dollars that came a minute ago for a checkout that was paid already."""
    item = extra_item(merchant=owner.merchant)
    Transfer.objects.filter(pk=item.transfer_id).update(block_time=timezone.now() - timedelta(minutes=1))
    return item


def pay(node: Anvil, units: int = 25 * DOLLAR, to: str = BUYER) -> str:
    sent = transfer(node, payer(node), token_address("USDC"), to, units)
    node.receipt(sent)
    return sent


def name(desk: Desk, item: InboxItem, tx_hash: str, **more: str) -> Any:
    return desk.post(SENT, {"tx_hash": tx_hash, **more}, item_id=item.pk)


def record(desk: Desk, item: InboxItem, tx_hash: str) -> Any:
    """Name a transaction, and choose the one payment in it."""
    page = name(desk, item, tx_hash)
    assert page.status_code == 200, page.text
    [choice] = page.context["choices"]
    return name(desk, item, tx_hash, choice=choice.value)


def status_of(item: InboxItem) -> str:
    item.refresh_from_db()
    return item.status


def test_an_items_money_is_refunded_by_the_form_of_a_checkout(owner: Desk, item: InboxItem) -> None:
    link = owner.url(REFUND, item_id=item.pk)
    assert link in owner.get("dashboard_inbox_item", item_id=item.pk).text
    page = owner.get(REFUND, item_id=item.pk)
    assert page.context["form"].initial["amount"] == "25"
    answer = owner.post(REFUND, {"amount": "25", "reason": "Paid twice", "email": ""}, item_id=item.pk)
    payout = Payout.objects.get()
    assert answer["Location"] == owner.url("dashboard_payout", payout_id=payout.public_id)
    assert (payout.status, payout.units, payout.sources.get().transfer) == ("open", 25 * DOLLAR, item.transfer)
    assert status_of(item) == InboxStatus.OPEN
    again = owner.get(REFUND, item_id=item.pk)
    assert (again.status_code, again["Location"]) == (302, owner.url("dashboard_inbox_item", item_id=item.pk))


def test_money_in_a_token_of_eighteen_decimals_is_refunded_to_the_last_unit(owner: Desk, item: InboxItem) -> None:
    units = 25 * 10**18 + 1
    Transfer.objects.filter(pk=item.transfer_id).update(token="DAI", units=units)
    InboxItem.objects.update(reason=InboxReason.WRONG_TOKEN)
    page = owner.get(REFUND, item_id=item.pk)
    assert "25.000000000000000001 DAI" in page.text
    assert owner.post(REFUND, page.context["form"].initial, item_id=item.pk).status_code == 302
    assert Payout.objects.get().units == units


def test_a_notice_about_credited_money_has_no_refund(owner: Desk, item: InboxItem) -> None:
    InboxItem.objects.update(reason=InboxReason.REVERSED)
    for page in (REFUND, SENT):
        assert owner.get(page, item_id=item.pk).status_code == 404


@pytest.mark.parametrize("page", [REFUND, SENT])
def test_a_viewer_and_another_merchant_have_no_form(page: str, viewer: Desk, stranger: Desk) -> None:
    item = extra_item(merchant=viewer.merchant)
    assert viewer.get(page, item_id=item.pk).status_code == 403
    assert viewer.post(page, {}, item_id=item.pk).status_code == 403
    assert stranger.get(page, item_id=item.pk).status_code == 404


def test_what_was_sent_already_is_looked_up_chosen_and_paid_once_it_is_final(
    base: Anvil, owner: Desk, item: InboxItem
) -> None:
    sent = pay(base)
    answer = record(owner, item, f"https://basescan.org/tx/{sent}")
    payout = Payout.objects.get()
    assert answer["Location"] == owner.url("dashboard_payout", payout_id=payout.public_id)
    assert (payout.status, payout.address, payout.address_by) == (PayoutStatus.SENDING, BUYER, AddressBy.CHAIN)
    assert payout.movement is not None
    assert (payout.movement.tx_hash, payout.movement.direction) == (sent, Direction.IN)
    assert WatchedWallet.objects.get().purpose == WatchPurpose.PAYOUT
    follow_movements(now=timezone.now())
    # One node said so, and its block is not final yet.
    assert (Payout.objects.get().status, status_of(item)) == (PayoutStatus.SENDING, InboxStatus.OPEN)
    assert answer_for_movements([payout.movement], now=timezone.now()) == 1
    follow_movements(now=timezone.now())
    paid = Payout.objects.get()
    assert (paid.status, paid.exception, status_of(item)) == (PayoutStatus.PAID, "", InboxStatus.REFUNDED)


def owed(desk: Desk, **more: Any) -> Payout:
    """An approved payout of five dollars to the buyer, asked for a minute ago."""
    payout = approved(make_payout(desk.merchant, 5 * DOLLAR, **more), desk.user)
    Payout.objects.filter(pk=payout.pk).update(created_at=timezone.now() - timedelta(minutes=1))
    return payout


def name_for(desk: Desk, payout: Payout, tx_hash: str, **more: str) -> Any:
    return desk.post("dashboard_sent_payout", {"tx_hash": tx_hash, **more}, payout_id=payout.public_id)


def test_what_an_exchange_sent_for_a_payout_is_named_and_paid_once_it_is_final(base: Anvil, owner: Desk) -> None:
    payout = owed(owner)
    link = owner.url("dashboard_sent_payout", payout_id=payout.public_id)
    assert link in owner.get("dashboard_payout", payout_id=payout.public_id).text
    tx_hash = pay(base, 5 * DOLLAR)
    page = name_for(owner, payout, tx_hash)
    [choice] = page.context["choices"]
    answer = name_for(owner, payout, tx_hash, choice=choice.value)
    assert answer["Location"] == owner.url("dashboard_payout", payout_id=payout.public_id)
    payout.refresh_from_db()
    assert (payout.status, payout.batch) == (PayoutStatus.SENDING, None)
    assert payout.movement is not None
    assert (payout.movement.tx_hash, payout.movement.direction) == (tx_hash, Direction.IN)
    follow_movements(now=timezone.now())
    assert Payout.objects.get().status == PayoutStatus.SENDING
    assert answer_for_movements([payout.movement], now=timezone.now()) == 1
    follow_movements(now=timezone.now())
    paid = Payout.objects.get()
    assert (paid.status, paid.exception) == (PayoutStatus.PAID, "")
    # It is known now.
    assert link not in owner.get("dashboard_payout", payout_id=payout.public_id).text
    assert name_for(owner, payout, tx_hash)["Location"] == answer["Location"]


@pytest.mark.parametrize(
    ("units", "to"), [(5 * DOLLAR + 1, BUYER), (5 * DOLLAR, OTHER_BUYER)], ids=["more", "to another"]
)
def test_a_transaction_that_is_not_exactly_what_is_owed_is_refused(
    units: int, to: str, base: Anvil, owner: Desk
) -> None:
    payout = owed(owner)
    page = name_for(owner, payout, pay(base, units, to))
    assert (page.status_code, Payout.objects.get().status) == (422, PayoutStatus.APPROVED)
    assert "recipient, amount and token have to be the same" in page.text


def test_one_transaction_pays_one_of_two_equal_payouts(base: Anvil, owner: Desk) -> None:
    tx_hash, answers = pay(base, 5 * DOLLAR), []
    for payout in (owed(owner), owed(owner)):
        [choice] = name_for(owner, payout, tx_hash).context["choices"]
        answers.append(name_for(owner, payout, tx_hash, choice=choice.value))
    assert [answer.status_code for answer in answers] == [302, 422]
    assert "already pays another" in answers[1].text
    assert list(Payout.objects.order_by("pk").values_list("status", flat=True)) == ["sending", "approved"]


def test_a_viewer_and_another_merchant_name_no_transaction(viewer: Desk, stranger: Desk) -> None:
    payout = approved(make_payout(viewer.merchant))
    for desk, status in ((viewer, 403), (stranger, 404)):
        assert desk.get("dashboard_sent_payout", payout_id=payout.public_id).status_code == status
        assert name_for(desk, payout, UNKNOWN).status_code == status


def test_one_that_a_watched_wallet_sent_is_its_outflow(base: Anvil, owner: Desk, item: InboxItem) -> None:
    sent = pay(base)
    wallet = make_watched(owner.merchant)
    facts: dict[str, Any] = {"tx_hash": sent, "position": 0, "token": "USDC", "token_address": token_address("USDC")}
    outflow = WatchedMovement.objects.create(
        wallet=wallet,
        merchant=owner.merchant,
        mode=Mode.LIVE,
        chain="base",
        direction=Direction.OUT,
        counterparty=BUYER,
        units=25 * DOLLAR,
        block_height=1,
        block_hash="0x1",
        block_time=timezone.now(),
        state=TransferState.CONFIRMED,
        detected_at=timezone.now(),
        **facts,
    )
    record(owner, item, sent)
    follow_movements(now=timezone.now())
    payout = Payout.objects.get()
    assert (payout.status, payout.movement) == (PayoutStatus.PAID, outflow)


def test_a_transaction_gives_money_back_once(base: Anvil, owner: Desk, item: InboxItem) -> None:
    sent = pay(base, 10 * DOLLAR)
    record(owner, item, sent)
    answer = record(owner, item, sent)
    assert answer.status_code == 422
    assert "already pays another refund" in answer.text
    assert Payout.objects.count() == 1
    # What it leaves can be sent back by another.
    assert record(owner, item, pay(base, 15 * DOLLAR)).status_code == 302
    assert Payout.objects.count() == 2


def test_more_than_came_is_refused_and_leaves_nothing(base: Anvil, owner: Desk, item: InboxItem) -> None:
    answer = record(owner, item, pay(base, 26 * DOLLAR))
    assert answer.status_code == 422
    assert not Payout.objects.exists()
    assert not WatchedMovement.objects.exists()
    assert item.checkout is not None
    assert promised(item.checkout) == (0, 0)


def test_what_cannot_have_given_it_back_is_not_offered(base: Anvil, owner: Desk, item: InboxItem) -> None:
    def refusal(tx_hash: str) -> str:
        answer = name(owner, item, tx_hash)
        assert answer.status_code == 422
        return str(answer.text)

    assert "look like a transaction hash" in refusal("coffee")
    assert "No network knows this transaction" in refusal(UNKNOWN)
    older = pay(base)
    Transfer.objects.filter(pk=item.transfer_id).update(block_time=timezone.now() + timedelta(hours=1))
    assert "sends nothing that can give this payment back" in refusal(older)
    assert name(owner, item, older, choice="base:0x1:0").status_code == 422
    assert not Payout.objects.exists()


def test_a_choice_of_ones_own_making_is_refused_in_both_forms(base: Anvil, owner: Desk, item: InboxItem) -> None:
    made_up = f"base:{UNKNOWN}:0"
    owed_one, tx_hash = owed(owner), pay(base, 5 * DOLLAR)
    answers = (name(owner, item, tx_hash, choice=made_up), name_for(owner, owed_one, tx_hash, choice=made_up))
    for answer in answers:
        assert answer.status_code == 422
        assert "Choose the payment" in answer.text
    assert list(Payout.objects.values_list("pk", "status")) == [(owed_one.pk, PayoutStatus.APPROVED)]


def test_the_merchants_own_wallets_are_nobody_that_money_is_given_back_to(
    base: Anvil, owner: Desk, item: InboxItem
) -> None:
    assert item.checkout is not None
    answer = record(owner, item, pay(base, to=str(item.checkout.offers["base"]["address"])))
    assert answer.status_code == 422
    assert not Payout.objects.exists()


def test_a_machines_payment_is_refunded_from_the_list_of_payments(owner: Desk, settings: Any) -> None:
    transfer = make_machine_transfer(owner.merchant, make_seller(owner.merchant, settings))
    paid = of_transfer(transfer, resource="a report")
    link = owner.url("dashboard_refund_machine", payment_id=paid.public_id)
    assert link in owner.get("dashboard_x402").text
    Transfer.objects.update(state=TransferState.CONFIRMED, confirmed_at=transfer.detected_at)
    page = owner.get("dashboard_refund_machine", payment_id=paid.public_id)
    assert page.context["rest"] == from_units(int(transfer.units))
    answer = owner.post("dashboard_refund_machine", {"amount": page.context["rest"]}, payment_id=paid.public_id)
    payout = Payout.objects.get()
    assert answer["Location"] == owner.url("dashboard_payout", payout_id=payout.public_id)
    assert payout.sources.get().transfer_id == transfer.pk


def test_money_of_a_machine_that_paid_for_nothing_is_refunded_from_the_list_of_transfers(
    owner: Desk, settings: Any
) -> None:
    transfer = make_machine_transfer(owner.merchant, make_seller(owner.merchant, settings))
    link = owner.url("dashboard_refund_transfer", transfer_id=transfer.public_id)
    assert link not in owner.get("dashboard_payments").text
    Transfer.objects.update(state=TransferState.CONFIRMED, confirmed_at=transfer.detected_at)
    listed = owner.get("dashboard_payments").text
    assert link in listed
    assert "Not shown to us as a proof yet" in listed
    page = owner.get("dashboard_refund_transfer", transfer_id=transfer.public_id)
    assert page.context["rest"] == from_units(int(transfer.units))
    answer = owner.post("dashboard_refund_transfer", {"amount": "0.2"}, transfer_id=transfer.public_id)
    payout = Payout.objects.get()
    assert answer["Location"] == owner.url("dashboard_payout", payout_id=payout.public_id)
    assert payout.sources.get().transfer_id == transfer.pk
    listed = owner.get("dashboard_payments").text
    # The rest of it can only be sent back.
    assert link in listed
    assert "Not shown to us as a proof yet" not in listed


def test_what_a_machine_paid_with_is_no_money_that_paid_for_nothing(owner: Desk, settings: Any) -> None:
    transfer = make_machine_transfer(owner.merchant, make_seller(owner.merchant, settings))
    Transfer.objects.update(state=TransferState.CONFIRMED, confirmed_at=transfer.detected_at)
    of_transfer(transfer)
    assert (
        owner.url("dashboard_refund_transfer", transfer_id=transfer.public_id)
        not in owner.get("dashboard_payments").text
    )
    for name in ("dashboard_refund_transfer", "dashboard_sent_refund_transfer"):
        assert owner.get(name, transfer_id=transfer.public_id).status_code == 404


def test_a_payment_that_no_watcher_recorded_says_why_it_is_not_refunded(owner: Desk) -> None:
    paid = make_machine_payment(owner.merchant)
    assert "Refund…" not in owner.get("dashboard_x402").text
    answer = owner.get("dashboard_refund_machine", payment_id=paid.public_id)
    assert answer["Location"] == owner.url("dashboard_x402")
    assert "No watcher has recorded this payment yet." in owner.client.get(answer["Location"]).text


@pytest.mark.parametrize(("mode", "filled"), [(Mode.LIVE, "ann@example.com"), (Mode.TEST, "")])
def test_the_buyers_address_is_filled_in_where_a_link_can_be_mailed_to_it(mode: Mode, filled: str) -> None:
    item = extra_item()
    Checkout.objects.update(customer_email="ann@example.com", mode=mode)
    for rows in (InboxItem.objects, Transfer.objects):
        rows.update(mode=mode)
    desk = make_desk(item.merchant, mode=mode)
    initial = desk.get(REFUND, item_id=item.pk).context["form"].initial
    assert initial == {"amount": "25", "email": filled}
    assert desk.post(REFUND, initial, item_id=item.pk).status_code == 302
