"""The pages of payouts: what they show, to whom, and what people do on them."""

from datetime import timedelta
from typing import Any

import pytest

from accounts.audit.actors import Actor
from accounts.models import AuditEntry, Merchant
from accounts.states import Mode, Role
from checkouts.models import Checkout
from gateway.core.restores import Restore
from mails.models import OutgoingMail
from payouts.following.service import accept_amount, follow_movements
from payouts.lifecycle.claims import claim_code
from payouts.models import Payout, PayoutApproval
from payouts.states import AddressBy, PayoutException, PayoutKind, PayoutStatus
from tests.checkouts.watcher import DOLLAR, Watcher, attribute, pay
from tests.contract.client import client_of
from tests.dashboard.people import Desk, make_desk
from tests.factories import NOON, make_checkout
from tests.payouts.factories import (
    BUYER,
    OTHER_BUYER,
    SENT,
    approved,
    make_approver,
    make_paid,
    make_payout,
    outflow_for,
    pay_out,
    promised,
    refund_of,
    status_of,
)
from tests.rates.playing import make_quoted
from wallets.models import ChainCursor, Transfer, WatchedMovement
from wallets.states import TransferState
from wallets.transfers.movements import queue_movements

pytestmark = pytest.mark.usefixtures("db", "still_noon")


def approve(desk: Desk, payout: Payout, revision: int | None = None) -> Any:
    sent = {"revision": payout.revision if revision is None else revision}
    return desk.post("dashboard_approve_payout", sent, payout_id=payout.public_id)


# The list.


def test_each_tab_lists_its_payouts(owner: Desk) -> None:
    waits = make_payout(owner.merchant, reference="rent")
    ready = approved(make_payout(owner.merchant, 7 * DOLLAR))
    for query, payout in (("", waits), ("?status=pay", ready)):
        page = owner.get("dashboard_payouts", query)
        assert payout.public_id in page.text
        assert {waits, ready} - {payout}
        assert all(other.public_id not in page.text for other in {waits, ready} - {payout})
    assert "rent" in owner.get("dashboard_payouts").text
    for query in ("?status=sent", "?status=done", "?status=nonsense"):
        assert owner.get("dashboard_payouts", query).status_code == 200


def test_without_payouts_the_page_says_how_to_begin(viewer: Desk) -> None:
    page = viewer.get("dashboard_payouts")
    assert "No payouts yet" in page.text
    assert "Import CSV" not in page.text


def test_what_is_to_be_paid_is_grouped_and_only_those_who_may_pay_select_it(owner: Desk, viewer: Desk) -> None:
    for chain in ("base", "base", "polygon"):
        approved(make_payout(owner.merchant, chain=chain))
    groups = owner.get("dashboard_payouts", "?status=pay").context["groups"]
    assert [(group.chain, group.total, len(group.rows)) for group in groups] == [
        ("base", "10.00", 2),
        ("polygon", "5.00", 1),
    ]
    assert 'type="checkbox"' in owner.get("dashboard_payouts", "?status=pay").text
    assert 'type="checkbox"' not in viewer.get("dashboard_payouts", "?status=pay").text


# One payout.


def test_a_payout_shows_its_history_and_where_its_money_came_from(owner: Desk) -> None:
    checkout = make_paid(owner.merchant)
    payout = refund_of(checkout, 5 * DOLLAR, reason="Broken mug", address=BUYER).payout
    page = owner.get("dashboard_payout", payout_id=payout.public_id)
    for words in (
        "Broken mug",
        "Asked for",
        "Address known",
        owner.url("dashboard_checkout", checkout_id=checkout.public_id),
    ):
        assert words in page.text


def test_only_who_may_run_payments_sees_the_link_and_the_recipients_address(owner: Desk, viewer: Desk) -> None:
    payout = refund_of(make_paid(owner.merchant), email="ann@example.test").payout
    code = claim_code(payout)
    assert code
    mine = owner.get("dashboard_payout", payout_id=payout.public_id).text
    assert code in mine
    assert "ann@example.test" in mine
    theirs = viewer.get("dashboard_payout", payout_id=payout.public_id).text
    assert code not in theirs
    assert "ann@example.test" not in theirs


def test_an_approved_payout_is_paid_from_its_own_page(owner: Desk, viewer: Desk) -> None:
    payout = make_payout(owner.merchant)
    assert ">Pay…</button>" not in owner.get("dashboard_payout", payout_id=payout.public_id).text
    approved(payout, owner.user)
    page = owner.get("dashboard_payout", payout_id=payout.public_id).text
    assert ">Pay…</button>" in page
    assert f'<input type="hidden" name="payout" value="{payout.public_id}">' in page
    assert ">Pay…</button>" not in viewer.get("dashboard_payout", payout_id=payout.public_id).text
    # The wallet and the method are chosen next, and nothing is handed out yet.
    assert owner.post("dashboard_pay_payouts", {"payout": payout.public_id}).status_code == 200
    assert status_of(payout) == PayoutStatus.APPROVED


def test_the_overview_leads_to_what_waits_for_the_person(owner: Desk, viewer: Desk) -> None:
    payout = make_payout(owner.merchant)
    address = owner.url("dashboard_payout", payout_id=payout.public_id)
    assert waiting(owner) == [("1 payout waits for your approval.", address)]
    assert waiting(viewer) == []
    approved(payout, owner.user)
    assert waiting(owner) == [("1 payout waits to be paid.", address)]
    other, third = make_payout(owner.merchant), make_payout(owner.merchant)
    listed = owner.url("dashboard_payouts")
    assert waiting(owner)[0] == ("2 refunds and payouts wait for your approval.", listed)
    # What waits for a second person does not wait for the one who has approved it.
    PayoutApproval.objects.create(payout=other, revision=other.revision, user=owner.user, approved_at=NOON)
    assert waiting(owner)[0] == (
        "1 payout waits for your approval.",
        owner.url("dashboard_payout", payout_id=third.public_id),
    )


def waiting(desk: Desk) -> list[tuple[str, str]]:
    """The notices of the overview about payouts, and where they lead."""
    notices = desk.get("dashboard_overview").context["notices"]
    return [(one.heading, one.url) for one in notices if "payout" in one.heading]


def test_approving_names_the_address_that_the_person_saw(owner_by_factor: Desk) -> None:
    desk = owner_by_factor
    payout = make_payout(desk.merchant)
    assert approve(desk, payout, revision=2).status_code == 302
    assert status_of(payout) == PayoutStatus.REQUESTED
    approve(desk, payout)
    assert status_of(payout) == PayoutStatus.APPROVED
    entry = AuditEntry.objects.get(action="payout.approved")
    assert (entry.actor, entry.object_id) == (desk.user, payout.public_id)
    assert "Approved by" in desk.get("dashboard_payout", payout_id=payout.public_id).text


def test_no_other_form_than_the_pages_own_approves(owner_by_factor: Desk) -> None:
    payout = make_payout(owner_by_factor.merchant)
    for sent in ({}, {"revision": "x"}, {"revision": "-1"}):
        answer = owner_by_factor.post("dashboard_approve_payout", sent, payout_id=payout.public_id)
        assert answer.status_code == 400
    assert status_of(payout) == PayoutStatus.REQUESTED


def test_approving_takes_a_second_factor(owner: Desk) -> None:
    payout = make_payout(owner.merchant)
    answer = approve(owner, payout)
    assert "security" in answer["Location"]
    # Also where it would be paid at once.
    sent = {"revision": payout.revision, "wallet": BUYER, "method": "list"}
    answer = owner.post("dashboard_approve_payout", sent, payout_id=payout.public_id)
    assert "security" in answer["Location"]
    assert status_of(payout) == PayoutStatus.REQUESTED


def test_approving_takes_a_fresh_login(merchant: Merchant) -> None:
    desk = make_desk(merchant, factor=True, fresh=False)
    payout = make_payout(merchant)
    assert "reauthenticate" in approve(desk, payout)["Location"]
    assert status_of(payout) == PayoutStatus.REQUESTED


def test_test_mode_needs_no_second_factor(owner_in_test_mode: Desk) -> None:
    payout = make_payout(owner_in_test_mode.merchant)
    Payout.objects.update(mode=Mode.TEST)
    approve(owner_in_test_mode, payout)
    assert status_of(payout) == PayoutStatus.APPROVED


@pytest.mark.parametrize("admins_approve", [False, True])
def test_admins_approve_where_their_merchant_says_so(admins_approve: bool, merchant: Merchant) -> None:
    merchant.admins_approve = admins_approve
    merchant.save(update_fields=["admins_approve"])
    desk = make_desk(merchant, Role.ADMIN, factor=True)
    payout = make_payout(merchant)
    page = desk.get("dashboard_payout", payout_id=payout.public_id)
    assert (">Approve<" in page.text) == admins_approve
    approve(desk, payout)
    assert status_of(payout) == (PayoutStatus.APPROVED if admins_approve else PayoutStatus.REQUESTED)


@pytest.fixture
def lost(merchant: Merchant) -> tuple[Payout, WatchedMovement]:
    """A payout, and an outflow of the same from a time that a restore lost."""
    Restore.objects.create(
        lost_from=NOON - timedelta(hours=2), restored_at=NOON - timedelta(hours=1), amounts_until=NOON
    )
    payout = make_payout(merchant)
    return payout, outflow_for(payout, block_time=NOON - timedelta(minutes=90))


def test_what_a_lost_time_may_have_paid_asks_which_it_is(
    owner_by_factor: Desk, lost: tuple[Payout, WatchedMovement]
) -> None:
    payout, outflow = lost
    page = owner_by_factor.get("dashboard_payout", payout_id=payout.public_id).text
    for words in ("20 Nov 2026, 10:30", outflow.tx_hash, ">It is that one<", ">Pay anyway<"):
        assert words in page
    assert ">Approve<" not in page
    # A page that was opened before it was found approves nothing.
    approve(owner_by_factor, payout)
    assert status_of(payout) == PayoutStatus.REQUESTED
    sent = {"revision": payout.revision, "despite": outflow.public_id}
    owner_by_factor.post("dashboard_approve_payout", sent, payout_id=payout.public_id)
    assert status_of(payout) == PayoutStatus.APPROVED


def test_an_outflow_of_a_lost_time_is_taken_for_the_payout(
    owner_by_factor: Desk, lost: tuple[Payout, WatchedMovement]
) -> None:
    payout, outflow = lost
    for named in ("", "mov_nothing", outflow.public_id):
        assert status_of(payout) == PayoutStatus.REQUESTED
        owner_by_factor.post("dashboard_accept_lost_outflow", {"movement": named}, payout_id=payout.public_id)
    assert status_of(payout) == PayoutStatus.PAID
    page = owner_by_factor.get("dashboard_payout", payout_id=payout.public_id).text
    assert "It is that one" not in page


def test_taking_an_outflow_of_a_lost_time_takes_a_second_factor(
    owner: Desk, lost: tuple[Payout, WatchedMovement]
) -> None:
    payout, outflow = lost
    sent = {"movement": outflow.public_id}
    answer = owner.post("dashboard_accept_lost_outflow", sent, payout_id=payout.public_id)
    assert "security" in answer["Location"]
    assert status_of(payout) == PayoutStatus.REQUESTED


def test_a_look_alike_of_another_address_is_warned_of(owner: Desk) -> None:
    twin = BUYER[:6] + "0" * 32 + BUYER[-4:]
    make_payout(owner.merchant)
    payout = make_payout(owner.merchant, address=twin.lower())
    page = owner.get("dashboard_payout", payout_id=payout.public_id)
    assert "looks like another one" in page.text
    assert BUYER in page.text
    other = make_payout(owner.merchant, address=OTHER_BUYER)
    assert "looks like another one" not in owner.get("dashboard_payout", payout_id=other.public_id).text


def test_a_person_changes_the_address_and_approvals_begin_anew(owner: Desk) -> None:
    payout = approved(make_payout(owner.merchant))
    assert owner.get("dashboard_payout_address", payout_id=payout.public_id).status_code == 200
    wrong = owner.post("dashboard_payout_address", {"address": BUYER[:-1]}, payout_id=payout.public_id)
    assert wrong.status_code == 422
    assert status_of(payout) == PayoutStatus.APPROVED
    owner.post("dashboard_payout_address", {"address": OTHER_BUYER}, payout_id=payout.public_id)
    payout.refresh_from_db()
    assert (payout.address, payout.status, payout.address_by) == (OTHER_BUYER, PayoutStatus.REQUESTED, AddressBy.PERSON)
    assert "no longer counts" in owner.get("dashboard_payout", payout_id=payout.public_id).text


def test_cancelling_frees_the_money(owner: Desk) -> None:
    checkout = make_paid(owner.merchant)
    payout = refund_of(checkout, 5 * DOLLAR).payout
    owner.post("dashboard_cancel_payout", payout_id=payout.public_id)
    assert status_of(payout) == PayoutStatus.CANCELLED
    assert promised(checkout) == (0, 0)
    page = owner.get("dashboard_payout", payout_id=payout.public_id)
    assert "Copy claim link" not in page.text
    assert "Change address" not in page.text


@pytest.mark.parametrize("exception", [PayoutException.REVERSED, PayoutException.PAID_TWICE])
def test_an_alarm_is_told_in_words(exception: PayoutException, owner: Desk) -> None:
    payout = make_payout(owner.merchant)
    Payout.objects.update(exception=exception)
    words = {PayoutException.REVERSED: "took this payment back", PayoutException.PAID_TWICE: "was paid twice"}
    assert words[exception] in owner.get("dashboard_payout", payout_id=payout.public_id).text


def test_what_was_sent_is_shown_beside_what_was_asked_for_where_it_is_another_amount(owner: Desk) -> None:
    whole, payout = (approved(make_payout(owner.merchant, units)) for units in (7 * DOLLAR, 5 * DOLLAR))
    pay_out(whole)
    less = outflow_for(payout, 5 * DOLLAR - 20_000)
    accept_amount(payout, less, actor=Actor(make_approver(owner.merchant)), now=NOON)
    assert (status_of(whole), status_of(payout)) == (PayoutStatus.PAID, PayoutStatus.PAID)
    rows = owner.get("dashboard_payouts", "?status=done").context["rows"]
    assert [(row.amount, row.sent) for row in rows] == [("5.00", "4.98 USDC"), ("7.00", "")]
    for page in (
        owner.get("dashboard_payouts", "?status=done"),
        owner.get("dashboard_payout", payout_id=payout.public_id),
    ):
        assert "4.98 USDC" in page.text
        assert "5.00 USDC" in page.text


@pytest.mark.parametrize(("head", "count"), [(None, 1), (99, 0), (102, 3), (500, 12)])
def test_what_was_seen_shows_its_confirmations_until_it_is_final(head: int | None, count: int, owner: Desk) -> None:
    payout = approved(make_payout(owner.merchant))
    outflow = outflow_for(payout, state=TransferState.DETECTED, block_height=100)
    ChainCursor.objects.update_or_create(chain="base", defaults={"head": head})
    queue_movements([outflow.pk], now=SENT)
    follow_movements(now=SENT)
    assert status_of(payout) == PayoutStatus.SENDING
    said = f"{count} of 12 confirmations"
    assert f"{said}. Not final yet." in owner.get("dashboard_payout", payout_id=payout.public_id).text
    assert said in owner.get("dashboard_payouts", "?status=sent").text
    shown = client_of(owner.merchant, Mode.LIVE).get(f"/payouts/{payout.public_id}").body["transaction"]
    assert (shown["tx_hash"], shown["required_confirmations"]) == (outflow.tx_hash, 12)
    assert min(shown["confirmations"], 12) == count
    WatchedMovement.objects.update(state=TransferState.CONFIRMED, queued_at=SENT)
    follow_movements(now=SENT)
    assert "confirmations" not in owner.get("dashboard_payout", payout_id=payout.public_id).text


def test_no_page_of_a_payout_calls_it_paid(owner: Desk) -> None:
    payout = approved(make_payout(owner.merchant))
    for page in (
        owner.get("dashboard_payout", payout_id=payout.public_id),
        owner.get("dashboard_payouts", "?status=pay"),
    ):
        assert "mark as paid" not in page.text.lower()


# The refund of a checkout.


def ask(desk: Desk, checkout: Any, **sent: str) -> Any:
    return desk.post("dashboard_refund", {"amount": "5", **sent}, checkout_id=checkout.public_id)


def test_the_form_suggests_all_that_is_left_or_what_was_overpaid(owner: Desk) -> None:
    paid, overpaid = make_paid(owner.merchant), make_paid(owner.merchant, 33 * DOLLAR)

    def suggested(checkout: Checkout) -> str:
        page = owner.get("dashboard_refund", checkout_id=checkout.public_id)
        return str(page.context["form"].initial["amount"])

    assert (suggested(paid), suggested(overpaid)) == ("25", "8")
    refund_of(overpaid, 5 * DOLLAR)
    assert suggested(overpaid) == "3"
    refund_of(overpaid, 3 * DOLLAR)
    # It is not suggested a second time.
    assert suggested(overpaid) == "25"
    refund_of(overpaid, 22 * DOLLAR)
    assert suggested(overpaid) == "3"


def test_the_form_says_what_the_money_is_in_the_currency_of_the_price(owner: Desk) -> None:
    checkout, in_usd = make_quoted(owner.merchant), make_paid(owner.merchant)
    pay(checkout, 25_030_000)

    def page_of(one: Checkout) -> str:
        return str(owner.get("dashboard_refund", checkout_id=one.public_id).text)

    assert '<span class="number">23.00 EUR</span> at the checkout\'s rate' in page_of(checkout)
    assert "rate 1 EUR is 1.08826 USDC." in page_of(checkout)
    refund_of(checkout, 12_515_000)
    assert '<span class="number">11.50 EUR</span>' in page_of(checkout)
    assert "checkout's rate" not in page_of(in_usd)


@pytest.mark.parametrize(("token", "units"), [("EURC", 20 * DOLLAR), ("DAI", 20 * 10**18)])
def test_the_form_gives_tokens_that_pay_no_checkout_no_worth_at_the_quote(token: str, units: int, owner: Desk) -> None:
    checkout, watcher = make_quoted(owner.merchant), Watcher()
    watcher.sees(checkout, units, token=token)
    watcher.confirms()
    attribute()
    page = owner.get("dashboard_refund", checkout_id=checkout.public_id)
    assert (page.context["token"], page.context["worth"], page.context["unit"]) == (token, "", "")
    assert f'Up to <span class="number">20.00 {token}</span> on Base. The buyer says' in " ".join(page.text.split())


def test_a_refund_is_asked_for_and_its_link_mailed_without_being_stored(owner: Desk) -> None:
    checkout = make_paid(owner.merchant)
    answer = ask(owner, checkout, reason="Broken mug", email="ann@example.test")
    payout = Payout.objects.get()
    assert answer["Location"] == owner.url("dashboard_payout", payout_id=payout.public_id)
    assert (payout.kind, payout.units, payout.reason) == (PayoutKind.REFUND, 5 * DOLLAR, "Broken mug")
    assert payout.requested_by == owner.user
    assert promised(checkout) == (5 * DOLLAR, 0)
    mail = OutgoingMail.objects.get(key=f"claim:{payout.public_id}")
    assert (mail.recipient, mail.text) == ("ann@example.test", "")


def test_where_the_money_came_from_is_shown_with_a_warning_and_filled_into_no_field(owner: Desk) -> None:
    checkout = make_paid(owner.merchant)
    Transfer.objects.update(sender=BUYER)
    payout = refund_of(checkout, 5 * DOLLAR).payout
    for page in (
        owner.get("dashboard_refund", checkout_id=checkout.public_id),
        owner.get("dashboard_payout_address", payout_id=payout.public_id),
    ):
        assert BUYER in page.text
        assert "often cannot receive for its customer" in page.text
        assert "address" not in page.context["form"].initial
        assert f'value="{BUYER}"' not in page.text
    # Without a source there is nothing to suggest.
    plain = make_payout(owner.merchant)
    assert "The money came from" not in owner.get("dashboard_payout_address", payout_id=plain.public_id).text


def test_an_address_that_the_buyer_told_is_given_with_the_refund(owner: Desk) -> None:
    checkout = make_paid(owner.merchant)
    assert ask(owner, checkout, address="0x12").status_code == 422
    assert not Payout.objects.exists()
    ask(owner, checkout, address=f" {OTHER_BUYER} ", email="ann@example.test")
    payout = Payout.objects.get()
    assert (payout.status, payout.address, payout.address_by) == (PayoutStatus.REQUESTED, OTHER_BUYER, AddressBy.PERSON)
    assert not OutgoingMail.objects.filter(key=f"claim:{payout.public_id}").exists()
    both = ask(owner, checkout, address=BUYER, requires_payer_proof="on")
    assert both.status_code == 422
    assert Payout.objects.count() == 1


def test_a_refund_only_for_who_paid_says_so_and_takes_no_typed_address(owner: Desk) -> None:
    checkout = make_paid(owner.merchant)
    ask(owner, checkout, requires_payer_proof="on")
    payout = Payout.objects.get()
    assert payout.requires_proof
    page = owner.get("dashboard_payout", payout_id=payout.public_id).text
    assert "Only an address that paid" in page
    assert owner.url("dashboard_payout_address", payout_id=payout.public_id) not in page
    refused = owner.post("dashboard_payout_address", {"address": BUYER}, payout_id=payout.public_id)
    assert refused.status_code == 302
    payout.refresh_from_db()
    assert payout.address == ""


def test_where_no_payer_is_known_the_form_says_so(owner: Desk) -> None:
    checkout = make_paid(owner.merchant)
    Transfer.objects.update(sender="")
    answer = ask(owner, checkout, requires_payer_proof="on")
    assert answer.status_code == 422
    assert "nobody can prove it" in answer.text
    assert not Payout.objects.exists()


@pytest.mark.parametrize(
    "sent", [{"amount": "25.01"}, {"amount": "0"}, {"amount": "0.0000001"}, {"email": "nobody"}, {"amount": "-1"}]
)
def test_a_refund_that_cannot_be_is_refused_and_reserves_nothing(sent: dict[str, str], owner: Desk) -> None:
    checkout = make_paid(owner.merchant)
    assert ask(owner, checkout, **sent).status_code in {409, 422}
    assert not Payout.objects.exists()
    assert not OutgoingMail.objects.exists()
    assert promised(checkout) == (0, 0)


def test_where_nothing_is_left_there_is_no_form(owner: Desk) -> None:
    checkout = make_paid(owner.merchant)
    refund_of(checkout)
    for refused in (checkout, make_checkout(owner.merchant)):
        answer = owner.get("dashboard_refund", checkout_id=refused.public_id)
        assert answer["Location"] == owner.url("dashboard_checkout", checkout_id=refused.public_id)


def test_the_checkouts_page_leads_to_the_refund_while_money_is_left(owner: Desk, viewer: Desk) -> None:
    checkout = make_paid(owner.merchant)
    link = owner.url("dashboard_refund", checkout_id=checkout.public_id)
    assert link in owner.get("dashboard_checkout", checkout_id=checkout.public_id).text
    assert link not in viewer.get("dashboard_checkout", checkout_id=checkout.public_id).text
    refund_of(checkout)
    assert link not in owner.get("dashboard_checkout", checkout_id=checkout.public_id).text


# Another amount than was owed.


def test_another_amount_is_shown_and_an_approver_accepts_it(owner_by_factor: Desk, viewer: Desk) -> None:
    desk = owner_by_factor
    payout = approved(make_payout(desk.merchant), desk.user)
    less = outflow_for(payout, 4_980_000)
    page = desk.get("dashboard_payout", payout_id=payout.public_id)
    assert "4.98 USDC" in page.text
    assert "Accept as paid" in page.text
    assert "Accept as paid" not in viewer.get("dashboard_payout", payout_id=payout.public_id).text
    desk.post("dashboard_accept_outflow", {"movement": "mov_none"}, payout_id=payout.public_id)
    assert status_of(payout) == PayoutStatus.APPROVED
    desk.post("dashboard_accept_outflow", {"movement": less.public_id}, payout_id=payout.public_id)
    payout.refresh_from_db()
    assert (payout.status, payout.exception) == (PayoutStatus.PAID, PayoutException.WRONG_AMOUNT)


def test_accepting_takes_a_second_factor(owner: Desk) -> None:
    payout = approved(make_payout(owner.merchant), owner.user)
    less = outflow_for(payout, 4_980_000)
    answer = owner.post("dashboard_accept_outflow", {"movement": less.public_id}, payout_id=payout.public_id)
    assert "security" in answer["Location"]
    assert status_of(payout) == PayoutStatus.APPROVED
