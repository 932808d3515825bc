"""What the inbox says of an item, and which act it puts first: rules and buyers' reports are evidence, junk is none."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from accounts.audit.actors import Actor
from accounts.models import Merchant
from checkouts.amounts import KEPT_FOR_RESTORES
from checkouts.inbox.service import apply_decisions, decide_item
from checkouts.inbox.stories import open_rows, stories_of, story_of
from checkouts.lifecycle.moves import expire
from checkouts.models import AmountReservation, BuyerReport, Checkout, InboxItem
from checkouts.selectors import reserved_amount
from checkouts.states import CheckoutStatus, InboxAct, InboxReason, InboxStatus, RescueVerdict
from gateway.core.api.errors import ConflictError, InvalidRequestError
from gateway.core.restores import Restore
from links.models import LinkCheckout
from links.selectors import INVOICE_SLOT
from tests.checkouts.arrivals import Till, inbox_item, reserve
from tests.checkouts.dashboard.opened import page_of as checkout_page
from tests.checkouts.inboxes import DONE, LATER, decide, extra_item, late_for, late_item
from tests.checkouts.watcher import DOLLAR, SOON, Watcher, attribute, events_of, fresh
from tests.dashboard.inboxes import DECIDE, ITEM, carry_out, reverse_a_payment
from tests.dashboard.inboxes import decide as decide_at_desk
from tests.dashboard.people import Desk
from tests.factories import NOON, make_checkout, make_user
from tests.links.factories import make_invoice, make_link_checkout
from wallets.models import Transfer

pytestmark = pytest.mark.django_db

EVIDENCE = [RescueVerdict.WAITING, RescueVerdict.NOT_FINAL, RescueVerdict.LATE, RescueVerdict.NOT_FOUND]
JUNK = [RescueVerdict.CREDITED, RescueVerdict.OTHER_ADDRESS, RescueVerdict.FAILED, RescueVerdict.FAKE_TOKEN]


@pytest.fixture
def counter(merchant: Merchant) -> Till:
    """The owner's merchant, with wallets."""
    return Till(merchant)


def short(counter: Till, **overrides: Any) -> tuple[Checkout, InboxItem]:
    """A checkout that asked for 62.0032, and 60 that came twenty seconds later."""
    values: dict[str, Any] = {"order_ref": "W-62"} | overrides
    checkout = counter.checkout("62.00", **values)
    reserve(checkout, 3_200, reserved_at=SOON - timedelta(seconds=20))
    transfer = counter.sees(60 * DOLLAR)
    counter.confirms()
    attribute()
    return checkout, inbox_item(transfer)


def named_by(
    checkout: Checkout, transfer: Transfer, verdict: str = RescueVerdict.WAITING, **overrides: Any
) -> BuyerReport:
    """A buyer handed in the transaction on the checkout's page."""
    values: dict[str, Any] = {
        "merchant": checkout.merchant,
        "mode": checkout.mode,
        "tx_hash": transfer.tx_hash,
        "chain": "" if verdict == RescueVerdict.NOT_FOUND else transfer.chain,
        "details": {"case": "unnamed", "tx_hash": transfer.tx_hash},
        "reported_at": timezone.now(),
        "looked_at": timezone.now(),
    }
    return BuyerReport.objects.create(checkout=checkout, verdict=verdict, **(values | overrides))


def end(checkout: Checkout, now: datetime = LATER) -> None:
    with transaction.atomic():
        expire(list(Checkout.objects.locked().filter(pk=checkout.pk)), now=now)


def labels(item: InboxItem) -> list[str]:
    return [deed.label for deed in story_of(item, now=SOON).deeds]


def item_again(item: InboxItem) -> InboxItem:
    """The item as the database has it now."""
    return InboxItem.objects.select_related("transfer", "checkout").get(pk=item.pk)


def test_a_buyers_report_is_evidence_and_says_what_is_missing(counter: Till) -> None:
    checkout, item = short(counter)
    assert (item.reason, item.checkout) == (InboxReason.UNMATCHED, None)
    assert labels(item) == []
    named_by(checkout, item.transfer)
    story = story_of(item, now=SOON)
    assert story.sentence == (
        "60.00 USDC came 20 s after W-62 asked for 62.0032 on Ethereum, and its buyer named this transaction."
        " 2.00 USD is missing."
    )
    assert labels(item) == ["Accept as paid", "Ask for 2.0032"]


def asked_for_the_rest(checkout: Checkout, item: InboxItem) -> AmountReservation:
    """Credit the money while there is time to pay the rest; what the page asks for then."""
    decided = decide_item(item, act=InboxAct.CREDIT, checkout=checkout, actor=Actor(make_user()), now=SOON)
    assert apply_decisions(now=decided.due_at) == 1
    held = reserved_amount(fresh(checkout), now=SOON)
    assert held is not None
    return held


def test_the_rest_that_the_button_names_is_what_the_page_asks_for(counter: Till) -> None:
    checkout, item = short(counter)
    named_by(checkout, item.transfer)
    assert labels(item)[1] == "Ask for 2.0032"
    held = asked_for_the_rest(checkout, item)
    assert (held.price, held.suffix) == (Decimal(2), 3_200)


def test_the_confirmation_and_the_checkouts_page_name_the_rest_that_the_button_names(
    counter: Till, owner: Desk
) -> None:
    checkout, item = short(counter)
    named_by(checkout, item.transfer)
    sure = owner.get(DECIDE, f"?act=credit&checkout={checkout.public_id}&seen=0", item_id=item.pk).text
    assert "Credit 60.00 USDC to W-62, and ask its buyer for 2.0032?" in sure
    assert "60.00 of 62.00 USD. It stays open, and its page asks the buyer for 2.0032." in sure
    asked_for_the_rest(checkout, item)
    Checkout.objects.filter(pk=checkout.pk).update(expires_at=timezone.now() + timedelta(hours=1))
    page = checkout_page(owner, checkout)
    assert "2.00 USD</span> is missing" in page
    assert 'The page asks the buyer for exactly <b class="number">2.0032</b>' in page


def test_an_amount_of_another_checkout_is_not_named_as_the_rest(counter: Till, owner: Desk) -> None:
    checkout, item = short(counter)
    named_by(checkout, item.transfer)
    counter.checkout("2.00", 3_200)
    assert labels(item)[1] == "Ask for 2.00"
    sure = owner.get(DECIDE, f"?act=credit&checkout={checkout.public_id}&seen=0", item_id=item.pk).text
    assert "its page asks the buyer for 2.00." in sure
    held = asked_for_the_rest(checkout, item)
    assert held.price == Decimal(2)
    assert held.suffix != 3_200


def test_an_amount_that_a_lost_checkout_may_have_is_not_named_as_the_rest(counter: Till, owner: Desk) -> None:
    checkout, item = short(counter)
    named_by(checkout, item.transfer)
    given_again = max(SOON, timezone.now()) + timedelta(days=4)
    Restore.objects.create(lost_from=SOON - timedelta(minutes=10), restored_at=SOON, amounts_until=given_again)
    assert labels(item)[1] == "Ask for 2.00"
    sure = owner.get(DECIDE, f"?act=credit&checkout={checkout.public_id}&seen=0", item_id=item.pk).text
    assert "its page asks the buyer for 2.00." in sure
    held = asked_for_the_rest(checkout, item)
    assert (held.price, held.suffix in KEPT_FOR_RESTORES) == (Decimal(2), True)


def test_the_rest_is_named_again_once_lost_checkouts_are_over(counter: Till) -> None:
    checkout, item = short(counter)
    named_by(checkout, item.transfer)
    Restore.objects.create(lost_from=SOON - timedelta(days=5), restored_at=SOON - timedelta(days=4), amounts_until=SOON)
    assert labels(item)[1] == "Ask for 2.0032"
    held = asked_for_the_rest(checkout, item)
    assert (held.price, held.suffix) == (Decimal(2), 3_200)


def test_each_row_leads_to_the_refund_of_its_money_until_that_is_asked_for(counter: Till, owner: Desk) -> None:
    checkout, item = short(counter)
    link = owner.url("dashboard_refund_item", item_id=item.pk)
    # Without evidence too.
    assert link in owner.get("dashboard_inbox").text
    named_by(checkout, item.transfer)
    page = owner.get("dashboard_inbox").text
    assert page.index("Ask for 2.0032") < page.index(link)
    form = owner.get("dashboard_refund_item", item_id=item.pk)
    assert form.context["form"].initial["amount"] == "60"
    assert owner.post("dashboard_refund_item", {"amount": "60", "email": ""}, item_id=item.pk).status_code == 302
    page = owner.get("dashboard_inbox").text
    assert link not in page
    assert "Ask for" not in page
    assert "Being refunded" in page


def test_no_row_of_a_viewer_or_of_credited_money_leads_to_a_refund(counter: Till, viewer: Desk) -> None:
    _, item = short(counter)
    assert viewer.url("dashboard_refund_item", item_id=item.pk) not in viewer.get("dashboard_inbox").text
    InboxItem.objects.update(reason=InboxReason.RIVAL)
    [row] = open_rows([item_again(item)], now=SOON)
    assert not row.is_refundable


def test_a_token_of_eighteen_decimals_is_compared_with_a_price_in_whole_tokens(merchant: Merchant) -> None:
    watcher = Watcher()
    transfer = watcher.sees(make_checkout(merchant), 20 * 10**18, token="DAI")
    watcher.confirms(transfer)
    attribute()
    assert story_of(inbox_item(transfer), now=SOON).sentence.endswith(" on Base. 5.00 USD is missing.")


@pytest.mark.parametrize("verdict", EVIDENCE)
def test_what_found_money_or_was_too_early_is_evidence(verdict: str, counter: Till) -> None:
    checkout, item = short(counter)
    named_by(checkout, item.transfer, verdict)
    assert story_of(item, now=SOON).is_named


@pytest.mark.parametrize("verdict", JUNK)
def test_junk_is_no_evidence(verdict: str, counter: Till, owner: Desk) -> None:
    checkout, item = short(counter)
    named_by(checkout, item.transfer, verdict)
    assert not story_of(item, now=SOON).is_named
    assert labels(item) == []
    assert "Named by their buyers" not in owner.get("dashboard_inbox").text


def test_a_report_of_another_transaction_another_merchant_or_a_closed_one_is_none(counter: Till) -> None:
    checkout, item = short(counter)
    named_by(checkout, item.transfer, tx_hash="0x" + "77" * 32, details={"case": "not_found"})
    stranger = make_checkout()
    named_by(stranger, item.transfer)
    named_by(counter.checkout("70.00"), item.transfer, closed_at=timezone.now())
    named_by(counter.checkout("71.00"), item.transfer, chain="solana")
    assert not story_of(item, now=SOON).is_named


def test_a_transaction_that_two_buyers_named_is_nobodys(counter: Till) -> None:
    checkout, item = short(counter)
    named_by(checkout, item.transfer)
    named_by(counter.checkout("60.50"), item.transfer)
    assert (
        story_of(item, now=SOON).sentence == "60.00 USDC came on Ethereum. 2 buyers named this transaction: ask them."
    )
    assert labels(item) == []


def test_a_buyer_who_names_what_belongs_to_another_checkout_gets_nothing(counter: Till) -> None:
    late = late_item(merchant=counter.merchant)
    named_by(counter.checkout("25.00", order_ref="T-1"), late.transfer)
    assert (
        "The buyer of T-1 named this transaction, but it points to another checkout too."
        in story_of(late, now=SOON).sentence
    )
    assert labels(late) == []


def test_accept_as_paid_credits_it_and_completes_the_checkout(counter: Till) -> None:
    checkout, item = short(counter)
    named_by(checkout, item.transfer)
    decide(item, InboxAct.CREDIT, checkout=checkout, accepted=Decimal(60))
    assert apply_decisions(now=DONE) == 1
    assert (fresh(checkout).status, fresh(checkout).exception) == ("completed", "underpaid")
    assert (fresh(checkout).amount_received, events_of(checkout)) == (60, ["completed"])


def test_ask_for_the_rest_credits_it_and_leaves_the_checkout_open(counter: Till) -> None:
    checkout, item = short(counter)
    named_by(checkout, item.transfer)
    decide(item, InboxAct.CREDIT, checkout=checkout)
    assert apply_decisions(now=DONE) == 1
    assert (fresh(checkout).status, events_of(checkout)) == ("underpaid", ["underpaid"])


def test_an_expired_checkout_that_its_buyer_named_gets_a_successor(counter: Till) -> None:
    checkout, item = short(counter)
    named_by(checkout, item.transfer)
    end(checkout)
    story = story_of(item, now=SOON)
    assert (story.deeds[0].act, story.deeds[0].label, story.deeds[0].accepted) == (
        "credit",
        "Accept as paid",
        "60.000000",
    )
    decide(item, InboxAct.CREDIT, checkout=fresh(checkout), accepted=Decimal(60))
    assert apply_decisions(now=DONE) == 1
    successor = Checkout.objects.get(replaces=checkout)
    assert (successor.status, successor.exception, successor.amount_received) == ("completed", "underpaid", 60)
    item.refresh_from_db()
    assert item.status == InboxStatus.CREDITED


def test_an_expired_checkout_is_credited_by_its_sum_alone_and_once(counter: Till) -> None:
    checkout, item = short(counter)
    end(checkout)
    gone = fresh(checkout)
    for accepted in (None, Decimal(59), Decimal(61)):
        with pytest.raises(ConflictError):
            decide(item, InboxAct.CREDIT, checkout=gone, accepted=accepted)
    decide(item, InboxAct.CREDIT, checkout=gone, accepted=Decimal(60))
    apply_decisions(now=DONE)
    again = counter.sees(60 * DOLLAR)
    counter.confirms()
    attribute()
    with pytest.raises(ConflictError, match="accepts no more money"):
        decide(inbox_item(again), InboxAct.CREDIT, checkout=gone, accepted=Decimal(60))


def test_a_checkout_that_expires_meanwhile_is_accepted_all_the_same(counter: Till) -> None:
    checkout, item = short(counter)
    decide(item, InboxAct.CREDIT, checkout=checkout, accepted=Decimal(60))
    end(checkout)
    assert apply_decisions(now=DONE) == 1
    assert Checkout.objects.get(replaces=checkout).status == CheckoutStatus.COMPLETED


def test_late_money_says_how_late_and_what_is_missing(merchant: Merchant) -> None:
    item = late_item(late=20 * DOLLAR, merchant=merchant, order_ref="L-1")
    assert story_of(item, now=SOON).sentence == "20.00 USDC came 31 min after L-1 expired on Base. 5.00 USD is missing."
    assert labels(item) == ["Accept as paid"]
    assert item.checkout is not None
    late_for(item.checkout, 5 * DOLLAR)
    assert "missing" not in story_of(item, now=SOON).sentence
    assert labels(item) == ["Accept late payment"]


def test_money_that_was_not_needed_points_to_its_checkout_and_to_no_act(merchant: Merchant) -> None:
    item = extra_item(merchant=merchant, order_ref="E-1")
    assert story_of(item, now=SOON).sentence == "25.00 USDC came for E-1, which was already paid, on Base."
    assert labels(item) == []


@pytest.mark.parametrize(
    ("token", "units", "told", "offered"),
    [
        ("DAI", 25 * 10**18, "", []),
        ("DAI", 24 * 10**18, " 1.00 USD is missing.", []),
        ("USDbC", 25 * DOLLAR, "", ["Credit this checkout"]),
        ("EURC", 24 * DOLLAR, "", []),
        ("EURC", 25 * DOLLAR, "", []),
    ],
)
def test_another_token_is_compared_with_a_price_if_it_is_one_of_a_dollar(
    token: str, units: int, told: str, offered: list[str], merchant: Merchant
) -> None:
    checkout, watcher = make_checkout(merchant), Watcher()
    watcher.sees(checkout, units, token=token)
    watcher.confirms()
    attribute()
    item = InboxItem.objects.get(reason=InboxReason.WRONG_TOKEN)
    assert story_of(item, now=SOON).sentence.endswith(f" on Base.{told}")
    assert labels(item) == offered
    if not offered:
        with pytest.raises(InvalidRequestError):
            decide(item, InboxAct.CREDIT, checkout=checkout)


def test_money_of_nobody_says_so(merchant: Merchant, counter: Till) -> None:
    transfer = counter.sees(17 * DOLLAR)
    counter.confirms()
    attribute()
    item = inbox_item(transfer)
    assert story_of(item, now=SOON).sentence == "17.00 USDC came on Ethereum. No checkout asks for this amount."


def test_an_alarm_says_what_to_do(owner: Desk) -> None:
    item = reverse_a_payment(owner)
    assert story_of(item, now=SOON).sentence == (
        "Base took 25.00 USDC back. shipped already had completed with it: hold the goods back if you still can."
    )


def test_money_that_is_not_final_offers_nothing_yet(counter: Till) -> None:
    checkout = counter.checkout("62.00")
    transfer = counter.sees(60 * DOLLAR)
    attribute()
    named_by(checkout, transfer)
    assert labels(inbox_item(transfer)) == []


def test_the_list_shows_what_buyers_named_first_with_one_primary_button(counter: Till, owner: Desk) -> None:
    checkout, item = short(counter)
    newer = extra_item(merchant=owner.merchant)
    named_by(checkout, item.transfer)
    page = owner.get("dashboard_inbox").text
    assert page.index("Named by their buyers") < page.index(owner.url(ITEM, item_id=newer.pk))
    assert page.count(f'href="{owner.url(ITEM, item_id=item.pk)}"') == 1
    # What nothing points to is decided on its own page.
    assert page.count(f'href="{owner.url(ITEM, item_id=newer.pk)}"') == 2
    assert page.split("<main")[1].count("button--primary") == 1
    assert "and its buyer named this transaction" in page
    narrowed = owner.get("dashboard_inbox", "?reason=unmatched").text
    assert "Named by their buyers" not in narrowed
    assert owner.url(ITEM, item_id=item.pk) in narrowed


def test_the_item_and_the_checkouts_page_offer_it_and_it_is_done_from_there(counter: Till, owner: Desk) -> None:
    checkout, item = short(counter)
    named_by(checkout, item.transfer)
    assert "its buyer named this transaction" in checkout_page(owner, checkout)
    page = owner.get(ITEM, item_id=item.pk).text
    assert "No evidence" not in page
    assert "Its buyer named this transaction on the page of W-62." in " ".join(page.split())
    asked = f"?act=credit&checkout={checkout.public_id}&accepted=60.000000&seen=0"
    sure = owner.get(DECIDE, asked, item_id=item.pk).text
    assert "Accept 60.00 USDC as full payment?" in sure
    assert "60.00 of 62.00 USD. 2.00 USD is missing: you accept that." in sure
    answer = decide_at_desk(owner, item, InboxAct.CREDIT, checkout=checkout.public_id, accepted="60.000000")
    assert answer.status_code == 302
    assert carry_out() == 1
    assert fresh(checkout).exception == "underpaid"


def test_an_expired_one_is_accepted_from_its_page_too(counter: Till, owner: Desk) -> None:
    checkout, item = short(counter)
    named_by(checkout, item.transfer)
    end(checkout)
    asked = f"?act=credit&checkout={checkout.public_id}&accepted=60.000000&seen=0"
    sure = owner.get(DECIDE, asked, item_id=item.pk).text
    assert "A new checkout with the same price and references receives 60.00 of 62.00 USD." in " ".join(sure.split())
    assert '<input type="hidden" name="accepted" value="60.000000">' in sure
    decide_at_desk(owner, item, InboxAct.CREDIT, checkout=checkout.public_id, accepted="60.000000")
    assert carry_out() == 1
    # Without the sum, an expired checkout is not asked about.
    other = counter.sees(61 * DOLLAR)
    counter.confirms()
    attribute()
    bare = f"?act=credit&checkout={checkout.public_id}&seen=0"
    assert owner.get(DECIDE, bare, item_id=inbox_item(other).pk).status_code == 302


def test_a_viewer_reads_the_story_and_has_no_button(counter: Till, viewer: Desk) -> None:
    checkout, item = short(counter)
    named_by(checkout, item.transfer)
    page = viewer.get("dashboard_inbox").text
    assert "and its buyer named this transaction" in page
    assert "Accept as paid" not in page
    assert "Accept as paid" not in viewer.get(ITEM, item_id=item.pk).text


def test_reports_that_found_no_money_are_folded_and_not_counted(counter: Till, owner: Desk) -> None:
    checkout, item = short(counter)
    for number in range(3):
        named_by(checkout, item.transfer, RescueVerdict.NOT_FOUND, tx_hash=f"0x{number:064x}")
    named_by(checkout, item.transfer)
    page = owner.get("dashboard_buyer_reports").text
    assert item.transfer.tx_hash in page
    assert f"0x{1:064x}" not in page
    assert "3 reports found no money for you" in page
    folded = owner.get("dashboard_buyer_reports", "?found=nothing").text
    assert f"0x{1:064x}" in folded
    assert item.transfer.tx_hash not in folded


def test_stories_of_many_items_ask_a_fixed_number_of_times(
    merchant: Merchant, django_assert_max_num_queries: Any
) -> None:
    for _ in range(4):
        named_by(make_checkout(merchant), late_item(late=20 * DOLLAR, merchant=merchant).transfer)
    items = list(InboxItem.objects.select_related("transfer", "checkout"))
    with django_assert_max_num_queries(8):
        assert len(stories_of(items, now=SOON)) == 4


def test_late_money_for_an_invoice_that_another_attempt_paid_has_no_button(merchant: Merchant) -> None:
    item = late_item(merchant=merchant, order_ref="INV-7")
    assert item.checkout is not None
    invoice = make_invoice(merchant, mode=item.mode)
    LinkCheckout.objects.create(link=invoice, checkout=item.checkout, slot=INVOICE_SLOT, attempt=2)
    other = make_link_checkout(invoice, CheckoutStatus.PENDING)
    make_link_checkout(invoice, slot="somebody else's")
    assert labels(item) == ["Accept late payment"]
    Checkout.objects.filter(pk=other.pk).update(status=CheckoutStatus.PROCESSING)
    assert labels(item) == []
    assert story_of(item, now=SOON).sentence == "25.00 USDC came for INV-7, which was already paid, on Base."


def test_a_price_that_is_paid_by_the_money_is_credited(counter: Till) -> None:
    checkout, item = short(counter, created_at=NOON - timedelta(minutes=5))
    pay_rest = counter.checkout("60.00", order_ref="R-1", created_at=SOON + timedelta(minutes=3))
    del checkout
    named_by(pay_rest, item.transfer)
    assert labels(item) == ["Credit this checkout"]
    assert "before R-1 was created" in story_of(item, now=SOON).sentence


@pytest.mark.parametrize(
    ("later", "asked", "when"),
    [
        (timedelta(milliseconds=999), True, "as W-62 asked for 62.0032"),
        (timedelta(milliseconds=999), False, "as W-62 was created"),
        (timedelta(0), False, "as W-62 was created"),
        (timedelta(seconds=1), True, "before W-62 was created"),
        (timedelta(seconds=-1), True, "1 s after W-62 asked for 62.0032"),
    ],
)
def test_a_checkout_of_the_blocks_own_second_is_not_called_newer(
    later: timedelta, asked: bool, when: str, counter: Till
) -> None:
    checkout = counter.checkout("62.00", order_ref="W-62", created_at=SOON + later)
    if asked:
        reserve(checkout, 3_200)
    transfer = counter.sees(60 * DOLLAR)
    counter.confirms()
    attribute()
    named_by(checkout, transfer)
    assert f"came {when} on Ethereum" in story_of(inbox_item(transfer), now=SOON).sentence
