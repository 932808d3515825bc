"""A merchant's rule decides about certain money alone, leaves half a minute to undo it, and never decides twice."""

from datetime import timedelta
from typing import Any

import pytest

from accounts.audit.actors import Actor
from accounts.models import AuditEntry, Merchant
from accounts.states import Mode
from checkouts.inbox import rule, successors
from checkouts.inbox.rule import RECENT, decide_certain
from checkouts.inbox.service import apply_decisions, undo_decision
from checkouts.inbox.stories import stories_of, story_of
from checkouts.inputs import AGAIN
from checkouts.models import Checkout, InboxDecision, InboxItem
from checkouts.states import InboxAct, InboxReason, InboxStatus
from checkouts.tasks import apply_decisions_task
from tests.checkouts.arrivals import Till, exact, inbox_item, memo, reserve
from tests.checkouts.inbox.test_stories import end, labels, named_by
from tests.checkouts.inboxes import DONE, LATER, decide, extra_item, late_for, late_item
from tests.checkouts.watcher import DOLLAR, attribute, fresh
from tests.dashboard.people import Desk
from tests.factories import make_checkout, make_live_chain, make_user
from wallets.models import Transfer, WitnessRequest

pytestmark = pytest.mark.django_db


@pytest.fixture
def counter(merchant: Merchant) -> Till:
    """A merchant with wallets, whose rule is on."""
    Merchant.objects.filter(pk=merchant.pk).update(decides_certain=True)
    return Till(merchant)


def late(counter: Till, units: int | None = None, *, labels: bool = False, **overrides: Any) -> InboxItem:
    """Money in the wallet for a checkout of 25 USD that has ended, in its exact amount unless other units are said."""
    checkout = counter.checkout(**overrides)
    reserve(checkout)
    end(checkout)
    texts = (memo(checkout),) if labels else ()
    transfer = counter.sees(units or exact(checkout), at=LATER, chain="solana", labels=texts)
    counter.confirms()
    attribute(now=LATER)
    return inbox_item(transfer)


def decided() -> list[InboxDecision]:
    return list(InboxDecision.objects.order_by("pk"))


def test_it_is_off_at_first(merchant: Merchant) -> None:
    late_item(merchant=merchant)
    assert not merchant.decides_certain
    assert decide_certain(now=LATER) == 0


def test_late_money_at_its_checkouts_own_address_is_accepted_after_half_a_minute(counter: Till) -> None:
    item = late_item(merchant=counter.merchant)
    assert decide_certain(now=LATER) == 1
    [decision] = decided()
    assert (decision.act, decision.actor, decision.due_at) == (InboxAct.ACCEPT_LATE, None, DONE)
    assert not Checkout.objects.filter(replaces=item.checkout).exists()
    assert apply_decisions(now=DONE) == 1
    assert Checkout.objects.get(replaces=item.checkout).status == "completed"


def test_late_money_with_its_code_is_accepted(counter: Till) -> None:
    late(counter, labels=True)
    assert decide_certain(now=LATER) == 1


def test_an_exact_amount_is_certain_only_with_its_buyers_report(counter: Till) -> None:
    item = late(counter)
    assert item.reason == InboxReason.LATE
    assert decide_certain(now=LATER) == 0
    assert item.checkout is not None
    named_by(item.checkout, item.transfer, looked_at=LATER)
    assert decide_certain(now=LATER) == 1


@pytest.mark.parametrize("verdict", ["other_address", "failed", "credited", "fake_token"])
def test_junk_makes_nothing_certain(verdict: str, counter: Till) -> None:
    item = late(counter)
    assert item.checkout is not None
    named_by(item.checkout, item.transfer, verdict, looked_at=LATER)
    assert decide_certain(now=LATER) == 0


def test_an_open_checkout_is_credited_with_the_exact_amount_that_its_buyer_named(counter: Till) -> None:
    checkout = counter.checkout()
    transfer = counter.sees()
    counter.confirms()
    transfer.refresh_from_db()
    InboxItem.objects.create(
        merchant=counter.merchant,
        mode="live",
        transfer=transfer,
        reason=InboxReason.AMBIGUOUS,
        explanation="",
        created_at=LATER,
    )
    reserve(checkout, 1)
    transfer.units = exact(checkout)
    transfer.decided_at = LATER
    transfer.queued_at = None
    transfer.save()
    named_by(checkout, transfer, looked_at=LATER)
    assert decide_certain(now=LATER) == 1
    assert apply_decisions(now=DONE) == 1
    assert fresh(checkout).status == "completed"


@pytest.mark.parametrize("case", ["short", "cancelled", "extra"])
def test_what_is_not_certain_waits_for_a_person(case: str, counter: Till) -> None:
    if case == "short":
        late_item(late=20 * DOLLAR, merchant=counter.merchant)
    if case == "extra":
        extra_item(merchant=counter.merchant)
    if case == "cancelled":
        item = late_item(merchant=counter.merchant)
        Checkout.objects.filter(inbox_items=item).update(cancelled_at=LATER)
    assert decide_certain(now=LATER) == 0


def test_what_a_halted_chain_may_have_lost_waits_for_a_person(counter: Till) -> None:
    item = late_item(merchant=counter.merchant)
    height = item.transfer.block_height
    make_live_chain(item.transfer.chain, halted_reason="a fork", halted_at=LATER, doubted_above=height - 1)
    assert decide_certain(now=LATER) == 0
    # What is older than the fork is as certain as ever.
    make_live_chain(item.transfer.chain, doubted_above=height)
    assert decide_certain(now=LATER) == 1


def second_node_agrees() -> None:
    """Answer every request, as `LargeAmounts` does."""
    WitnessRequest.objects.filter(answered_at=None).update(answered_at=LATER)


@pytest.mark.parametrize(("before", "parts"), [(6_000, [6_000]), (0, [6_000, 6_000]), (0, [4_000, 4_000, 4_000])])
def test_late_parts_of_a_large_sum_wait_for_a_second_node(counter: Till, before: int, parts: list[int]) -> None:
    first, *others = parts
    item = late_item(before=before * DOLLAR, late=first * DOLLAR, merchant=counter.merchant, amount=12_000)
    assert item.checkout is not None
    for units in others:
        late_for(item.checkout, units * DOLLAR)
    assert [decide_certain(now=LATER) for _ in range(2)] == [0, 0]
    assert WitnessRequest.objects.count() == len(parts) + bool(before)
    second_node_agrees()
    assert decide_certain(now=LATER) == 1
    assert apply_decisions(now=DONE) == 1
    successor = Checkout.objects.get(replaces=item.checkout)
    assert (successor.status, successor.exception) == ("completed", "")


def test_without_waiting_one_node_would_complete_a_large_checkout(
    counter: Till, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control of the test above."""
    monkeypatch.setattr(successors, "is_large_part", lambda *_: False)
    late_item(before=6_000 * DOLLAR, late=6_000 * DOLLAR, merchant=counter.merchant, amount=12_000)
    assert decide_certain(now=LATER) == 1


@pytest.mark.parametrize("mode", [Mode.LIVE, Mode.TEST])
def test_what_is_no_large_sum_or_of_a_test_waits_for_no_second_node(counter: Till, mode: Mode) -> None:
    amount = 9_000 if mode == Mode.LIVE else 12_000
    late_item(
        late=amount * DOLLAR // 2, before=amount * DOLLAR // 2, merchant=counter.merchant, amount=amount, mode=mode
    )
    assert decide_certain(now=LATER) == 1
    assert not WitnessRequest.objects.exists()


def test_a_first_part_that_a_halted_chain_may_have_lost_waits_for_a_person(counter: Till) -> None:
    item = late_item(before=10 * DOLLAR, late=15 * DOLLAR, merchant=counter.merchant)
    Transfer.objects.filter(pk=item.transfer_id).update(chain="polygon")
    first = Transfer.objects.exclude(pk=item.transfer_id).get()
    make_live_chain("base", halted_reason="a fork", halted_at=LATER, doubted_above=first.block_height - 1)
    assert decide_certain(now=LATER) == 0
    make_live_chain("base", doubted_above=first.block_height)
    assert decide_certain(now=LATER) == 1


@pytest.mark.parametrize("renewals", [1, 2])
def test_late_money_for_an_order_that_another_try_paid_waits_for_a_person(counter: Till, renewals: int) -> None:
    item = late_item(merchant=counter.merchant, order_ref="W-62")
    tried = item.checkout
    for number in range(renewals):
        assert tried is not None
        tried = make_checkout(counter.merchant, creation_ref=f"{AGAIN}{tried.public_id}", order_ref="W-62")
        if number < renewals - 1:
            end(tried)
    assert tried is not None
    assert labels(item) == ["Accept late payment"]
    Checkout.objects.filter(pk=tried.pk).update(status="processing")
    assert labels(item) == []
    assert story_of(item, now=LATER).sentence == "25.00 USDC came for W-62, which was already paid, on Base."
    assert decide_certain(now=LATER) == 0
    # The network took the other payment back.
    Checkout.objects.filter(pk=tried.pk).update(status="completed", exception="reversed", paid_at=LATER)
    assert decide_certain(now=LATER) == 1


def ended_try(merchant: Merchant, *, before: Checkout | None = None, is_accepted: bool = False) -> Checkout:
    """A try that expired, which renews the one `before`; its late money was accepted if that is said."""
    tried = make_checkout(merchant, creation_ref=f"{AGAIN}{before.public_id}" if before else None)
    end(tried)
    if is_accepted:
        make_checkout(merchant, replaces=tried, status="completed", paid_at=LATER)
    return tried


def test_late_money_for_an_order_whose_later_try_was_accepted_late_waits_for_a_person(counter: Till) -> None:
    item = late_item(merchant=counter.merchant)
    ended_try(counter.merchant, before=item.checkout, is_accepted=True)
    assert labels(item) == []
    assert decide_certain(now=LATER) == 0


@pytest.mark.parametrize("between", [0, 1])
def test_late_money_for_an_order_whose_earlier_try_was_accepted_late_waits_for_a_person(
    between: int, counter: Till
) -> None:
    tried = ended_try(counter.merchant, is_accepted=True)
    for _ in range(between):
        tried = ended_try(counter.merchant, before=tried)
    item = late_item(merchant=counter.merchant, creation_ref=f"{AGAIN}{tried.public_id}")
    assert labels(item) == []
    assert decide_certain(now=LATER) == 0
    # The network took that money back.
    Checkout.objects.filter(replaces__isnull=False).update(exception="reversed")
    assert decide_certain(now=LATER) == 1


def test_the_try_that_paid_is_found_however_often_the_buyer_began_again(counter: Till) -> None:
    item = late_item(merchant=counter.merchant)
    tried = item.checkout
    for _ in range(4):
        tried = ended_try(counter.merchant, before=tried)
    assert labels(item) == ["Accept late payment"]
    assert tried is not None
    paid = make_checkout(counter.merchant, creation_ref=f"{AGAIN}{tried.public_id}")
    Checkout.objects.filter(pk=paid.pk).update(status="processing")
    assert labels(item) == []
    assert decide_certain(now=LATER) == 0


def left_to_a_person(item: InboxItem) -> str:
    """Carry out the rule's decision about an item, which has no effect and is not made again; return why."""
    assert apply_decisions(now=DONE) == 0
    assert not Checkout.objects.filter(replaces=item.checkout).exists()
    assert decide_certain(now=DONE) == 0
    item.refresh_from_db()
    assert item.status == InboxStatus.OPEN
    [decision] = decided()
    return decision.failure


def test_what_another_try_paid_within_the_half_minute_waits_for_a_person(counter: Till) -> None:
    item = late_item(merchant=counter.merchant)
    assert item.checkout is not None
    renewal = make_checkout(counter.merchant, creation_ref=f"{AGAIN}{item.checkout.public_id}")
    assert decide_certain(now=LATER) == 1
    Checkout.objects.filter(pk=renewal.pk).update(status="processing")
    assert left_to_a_person(item) == "Another try of this order was paid since."


def test_what_a_chain_that_halted_within_the_half_minute_may_have_lost_waits_for_a_person(counter: Till) -> None:
    item = late_item(merchant=counter.merchant)
    assert decide_certain(now=LATER) == 1
    below = item.transfer.block_height - 1
    make_live_chain(item.transfer.chain, halted_reason="a fork", halted_at=LATER, doubted_above=below)
    assert "may be lost" in left_to_a_person(item)


def test_a_persons_decision_is_theirs_whatever_another_try_did(counter: Till) -> None:
    item = late_item(merchant=counter.merchant)
    assert item.checkout is not None
    decide(item, InboxAct.ACCEPT_LATE)
    paid = make_checkout(counter.merchant, creation_ref=f"{AGAIN}{item.checkout.public_id}")
    Checkout.objects.filter(pk=paid.pk).update(status="processing")
    assert apply_decisions(now=DONE) == 1


def test_what_a_person_undid_is_not_decided_again(counter: Till) -> None:
    item = late_item(merchant=counter.merchant)
    decide_certain(now=LATER)
    undo_decision(decided()[0], now=LATER, actor=Actor(make_user()))
    assert decide_certain(now=LATER) == 0
    assert apply_decisions(now=DONE) == 0
    item.refresh_from_db()
    assert item.status == InboxStatus.OPEN


def test_what_a_person_decided_is_left_to_them(counter: Till) -> None:
    item = late_item(merchant=counter.merchant)
    decide(item, InboxAct.DISMISS)
    assert decide_certain(now=LATER) == 0


def test_what_a_person_decides_at_that_moment_is_left_to_them(counter: Till, monkeypatch: pytest.MonkeyPatch) -> None:
    item, real = late_item(merchant=counter.merchant), stories_of

    def stories_late(items: Any, **given: Any) -> Any:
        decide(item, InboxAct.DISMISS)
        return real(items, **given)

    monkeypatch.setattr(rule, "stories_of", stories_late)
    assert decide_certain(now=LATER) == 0
    assert [decision.act for decision in decided()] == [InboxAct.DISMISS]


def test_old_money_waits_when_the_rule_is_switched_on(counter: Till) -> None:
    late_item(merchant=counter.merchant)
    assert decide_certain(now=LATER + RECENT + timedelta(seconds=1)) == 0


def test_another_merchants_money_and_a_closed_account_are_left_alone(counter: Till) -> None:
    late_item()
    assert decide_certain(now=LATER) == 0
    late_item(merchant=counter.merchant)
    Merchant.objects.filter(pk=counter.merchant.pk).update(closed_at=LATER)
    assert decide_certain(now=LATER) == 0


def test_test_mode_has_it_too(counter: Till) -> None:
    late_item(merchant=counter.merchant, mode=Mode.TEST)
    assert decide_certain(now=LATER) == 1


def test_the_audit_log_says_that_it_was_the_rule(counter: Till) -> None:
    late_item(merchant=counter.merchant)
    decide_certain(now=LATER)
    entry = AuditEntry.objects.get(action="inbox.decided")
    assert entry.actor is None
    assert entry.after is not None
    assert entry.after["by"] == "rule"


def test_the_worker_runs_it(counter: Till) -> None:
    item = late_item(merchant=counter.merchant)
    InboxItem.objects.filter(pk=item.pk).update(created_at=LATER + timedelta(days=10_000))
    assert apply_decisions_task() == 0
    assert len(decided()) == 1


def test_it_is_switched_on_and_off_on_the_inboxs_page(admin: Desk, viewer: Desk) -> None:
    page = admin.get("dashboard_inbox").text
    assert "Turn on" in page
    assert admin.post("dashboard_inbox_rule", {"on": "1"}).status_code == 302
    assert Merchant.objects.get(pk=admin.merchant.pk).decides_certain
    assert "Turn off" in admin.get("dashboard_inbox").text
    assert "Turn off" not in viewer.get("dashboard_inbox").text
    assert viewer.post("dashboard_inbox_rule", {"on": "0"}).status_code == 403
    admin.post("dashboard_inbox_rule", {"on": "0"})
    assert not Merchant.objects.get(pk=admin.merchant.pk).decides_certain
    assert AuditEntry.objects.filter(action="merchant.inbox_rule_switched").count() == 2


def test_its_decision_is_shown_as_the_rules(counter: Till, owner: Desk) -> None:
    item = late_item(merchant=counter.merchant)
    decide_certain(now=item.created_at)
    page = owner.get("dashboard_inbox_item", item_id=item.pk).text
    assert "your rule for certain money" in page
    assert "by your rule for certain money" in owner.get("dashboard_inbox", "?tab=doing").text
