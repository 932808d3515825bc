"""Test mode plays its scenarios through the code that real money takes."""

import re
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from accounts.models import Merchant
from accounts.states import Mode
from checkouts.creation.service import create_checkout
from checkouts.inputs import NewCheckout
from checkouts.lifecycle.endings import cancel_checkout
from checkouts.lifecycle.expiry import expire_due_checkouts
from checkouts.models import Checkout, Payment, TestStep
from checkouts.selectors import checkout_row
from checkouts.states import CheckoutStatus, InboxReason
from checkouts.states import TestScenario as Scenario
from checkouts.testmode import advance, play_due_steps
from gateway.core.api.errors import ConflictError, NotFoundError
from tests.checkouts.watcher import attribute, events_of, fresh, inbox_of, last_body, shown
from tests.factories import NOON, checkout_counts, make_checkout, make_merchant, make_wallet
from tests.tree import ROOT
from wallets.models import DepositAddress, Transfer
from wallets.states import TransferState

pytestmark = pytest.mark.django_db

GUIDE = ROOT / "docs/guide/test-mode.md"
OTHER_WALLET = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"


def make_trial(scenario: str = "completed", merchant: Merchant | None = None, **overrides: Any) -> Checkout:
    """A test checkout of 25 USD, created at noon as the API would."""
    values: dict[str, Any] = {
        "amount": Decimal("25.00"),
        "currency": "USD",
        "description": "",
        "metadata": "{}",
        "customer_email": "",
        "redirect_url": "",
        "webhook_url": "",
        "customer_ref": "",
        "product_ref": "",
        "order_ref": "",
        "expires_in": 1800,
        "test_scenario": Scenario(scenario),
    }
    merchant = merchant or make_merchant()
    wanted = NewCheckout(**(values | overrides))
    created = create_checkout(merchant.pk, Mode.TEST, wanted, now=NOON)
    return Checkout.objects.get(pk=created.row.id)


def after(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


Told = tuple[str, str, list[str], list[str]]


def told_of(checkout: Checkout) -> Told:
    """What a checkout shows: status, exception, events and inbox so far."""
    now = fresh(checkout)
    return now.status, now.exception, events_of(checkout), inbox_of(checkout)


STORIES: dict[str, list[Told]] = {
    "completed": [("completed", "", ["completed"], [])],
    "processing": [("processing", "", [], []), ("completed", "", ["completed"], [])],
    "underpaid": [("underpaid", "underpaid", ["underpaid"], [])],
    "topped_up": [("underpaid", "underpaid", ["underpaid"], []), ("completed", "", ["underpaid", "completed"], [])],
    "part_paid": [
        ("underpaid", "underpaid", ["underpaid"], []),
        ("expired", "underpaid", ["underpaid", "expired"], []),
    ],
    "overpaid": [("completed", "overpaid", ["completed"], [])],
    "extra": [("completed", "", ["completed"], []), ("completed", "", ["completed"], [InboxReason.EXTRA])],
    "late": [("expired", "", ["expired"], []), ("expired", "", ["expired"], [InboxReason.LATE])],
    "expired": [("expired", "", ["expired"], [])],
    "reorg": [
        ("processing", "", [], []),
        ("pending", "", [], []),
        ("completed", "", ["completed"], []),
        ("completed", "reversed", ["completed", "reversed"], ["reversed"]),
        ("completed", "", ["completed", "reversed", "restored"], ["reversed"]),
    ],
    "reversed": [
        ("completed", "", ["completed"], []),
        ("completed", "reversed", ["completed", "reversed"], ["reversed"]),
    ],
}
"""What a checkout of each scenario shows after each of its steps."""
by_scenario = pytest.mark.parametrize(("scenario", "story"), STORIES.items(), ids=STORIES)


def test_each_scenario_has_a_story():
    assert set(STORIES) == set(Scenario.values)


@by_scenario
def test_each_scenario_plays_its_states_and_webhooks(scenario, story):
    checkout = make_trial(scenario)
    assert play_due_steps(now=after(4.999)) == 0
    assert fresh(checkout).status == CheckoutStatus.PENDING
    for tick, expected in enumerate(story, 1):
        assert play_due_steps(now=after(5 * tick)) == 1
        assert told_of(checkout) == expected
    assert play_due_steps(now=after(1000)) == 0
    assert told_of(checkout) == story[-1]


@by_scenario
def test_the_guide_names_the_events_of_each_scenario(scenario, story):
    [row] = re.findall(rf"^\| `{scenario}` .*$", GUIDE.read_text(), re.MULTILINE)
    *_, statuses, events = row.strip("|").split("|")
    assert re.findall(r"`checkout\.(\w+)`", events) == story[-1][2]
    assert set(re.findall(r"`(\w+)`", statuses)) == {status for status, *_ in story}


def test_the_mock_webhook_is_a_real_one_in_test_mode():
    checkout = make_trial(metadata='{"order":"A-77"}')
    play_due_steps(now=after(5))
    body = last_body(checkout)
    assert (body["type"], body["livemode"]) == ("checkout.completed", False)
    assert body["checkout_id"] == checkout.public_id
    assert body["checkout_id"].startswith("chk_test_")
    assert body["data"] == shown(checkout)
    assert body["data"]["metadata"] == {"order": "A-77"}
    assert body["data"]["payment"]["amount_crypto"] == "25.000000"
    assert body["data"]["payment"]["network"] == "base"


def test_half_the_price_is_left_to_pay_when_underpaid():
    checkout = make_trial("underpaid")
    play_due_steps(now=after(5))
    assert shown(checkout)["amount_received"] == "12.500000"
    assert shown(checkout)["amount_remaining"] == "12.500000"


def test_steps_wait_as_rows_and_survive_a_restart():
    checkout = make_trial("reorg")
    rows = TestStep.objects.filter(checkout=checkout, done_at=None).order_by("due_at")
    assert list(rows.values_list("due_at", flat=True)) == [after(5), after(10), after(15), after(20), after(25)]
    play_due_steps(now=after(5))
    assert rows.count() == 4
    # Whoever plays next knows nothing but the rows.
    play_due_steps(now=after(10))
    play_due_steps(now=after(15))
    assert fresh(checkout).status == CheckoutStatus.COMPLETED


@pytest.mark.parametrize(
    ("scenario", "status", "told"),
    [
        *((name, story[-1][0], story[-1][2]) for name, story in STORIES.items() if name != "underpaid"),
        ("underpaid", "expired", ["underpaid", "expired"]),
    ],
)
@pytest.mark.parametrize("first", [play_due_steps, expire_due_checkouts])
def test_a_restart_after_the_checkouts_time_plays_it_out_all_the_same(first, scenario, status, told):
    checkout = make_trial(scenario)
    first(now=after(7200))
    play_due_steps(now=after(7200))
    expire_due_checkouts(now=after(7201))
    assert fresh(checkout).status == status
    assert events_of(checkout) == told
    assert TestStep.objects.filter(done_at=None).count() == 0


def test_a_step_is_played_once():
    checkout = make_trial()
    assert play_due_steps(now=after(5)) == 1
    assert play_due_steps(now=after(6)) == 0
    assert Transfer.objects.count() == Payment.objects.count() == 1
    assert TestStep.objects.get(checkout=checkout).done_at == after(5)


def test_more_steps_than_a_batch_are_all_played(monkeypatch):
    monkeypatch.setattr("checkouts.testmode.BATCH", 2)
    merchant = make_merchant()
    checkouts = [make_trial(merchant=merchant) for _ in range(5)]
    assert play_due_steps(now=after(5)) == 5
    assert {fresh(checkout).status for checkout in checkouts} == {"completed"}
    assert checkout_counts(merchant, Mode.TEST) == {"completed": 5}


def test_a_merchant_with_different_wallets_has_working_test_checkouts():
    merchant = make_merchant()
    make_wallet(merchant, "base")
    make_wallet(merchant, "polygon", OTHER_WALLET)
    checkout = make_trial(merchant=merchant)
    assert DepositAddress.objects.filter(nonce=checkout.deposit_nonce).count() == 2
    play_due_steps(now=after(5))
    assert fresh(checkout).status == CheckoutStatus.COMPLETED


def test_simulated_money_is_marked_as_test_money_everywhere():
    checkout = make_trial()
    play_due_steps(now=after(5))
    transfer = Transfer.objects.get()
    assert transfer.mode == Mode.TEST
    assert transfer.state == TransferState.CONFIRMED
    assert transfer.recipient == checkout.offers["base"]["address"]
    assert shown(checkout)["livemode"] is False


def test_a_reorganisation_shows_the_transfer_come_and_go():
    checkout = make_trial("reorg")
    seen = []
    for tick in (5, 10, 15):
        play_due_steps(now=after(tick))
        [transfer] = shown(checkout)["transfers"]
        seen.append((transfer["status"], transfer["confirmations"]))
    required = shown(checkout)["transfers"][0]["required_confirmations"]
    assert seen == [("detected", 1), ("orphaned", 0), ("confirmed", required)]


@pytest.mark.parametrize(("price", "part"), [("0.10", "0.04"), ("0.11", "0.05"), ("0.13", "0.07"), ("25.01", "12.51")])
def test_an_odd_price_is_paid_in_whole_cents(price, part):
    checkout = make_trial("underpaid", amount=Decimal(price))
    play_due_steps(now=after(5))
    assert fresh(checkout).amount_received == Decimal(part)
    assert fresh(checkout).status == CheckoutStatus.UNDERPAID


def test_a_topped_up_price_is_paid_to_the_cent():
    checkout = make_trial("topped_up", amount=Decimal("25.01"))
    for tick in (5, 10):
        play_due_steps(now=after(tick))
    assert [transfer["amount"] for transfer in shown(checkout)["transfers"]] == ["12.510000", "12.500000"]


def test_a_step_waits_until_the_one_before_it_is_attributed(monkeypatch):
    checkout = make_trial("reversed")
    with monkeypatch.context() as patched:
        # A worker that ends after it has written the money.
        patched.setattr("checkouts.testmode.attribute_transfers", lambda *, now: 0)
        assert play_due_steps(now=after(5)) == 1
    assert play_due_steps(now=after(10)) == 0
    attribute(now=after(11))
    assert play_due_steps(now=after(12)) == 1
    assert told_of(checkout) == STORIES["reversed"][-1]


def advanced(checkout: Checkout, steps: int = 1, *, seconds: float = 1) -> None:
    """Advance a test checkout, some seconds after noon."""
    row = checkout_row(checkout.merchant_id, Mode(checkout.mode), checkout.public_id)
    advance(row, steps, now=after(seconds))


@by_scenario
def test_each_scenario_is_advanced_step_by_step_without_waiting(scenario, story):
    checkout = make_trial(scenario)
    for expected in story:
        advanced(checkout)
        assert told_of(checkout) == expected
    assert not TestStep.objects.filter(done_at=None).exists()


@by_scenario
def test_several_steps_at_once_are_the_same_as_one_by_one(scenario, story):
    checkout = make_trial(scenario)
    advanced(checkout, len(story))
    assert told_of(checkout) == story[-1]


def test_what_is_advanced_happens_now_and_not_when_it_was_due():
    checkout = make_trial()
    advanced(checkout)
    assert Transfer.objects.get().block_time == fresh(checkout).paid_at == after(1)


def test_after_the_last_step_the_time_to_pay_ends():
    checkout = make_trial("underpaid")
    advanced(checkout)
    advanced(checkout, seconds=2)
    assert told_of(checkout) == STORIES["part_paid"][-1]
    assert fresh(checkout).expires_at == after(2)


@pytest.mark.parametrize("scenario", list(Scenario))
def test_more_steps_than_there_are_play_all_and_then_there_is_nothing_to_play(scenario):
    checkout = make_trial(scenario)
    advanced(checkout, 10)
    assert fresh(checkout).is_final
    before = told_of(checkout)
    with pytest.raises(ConflictError):
        advanced(checkout, 10)
    assert told_of(checkout) == before


def test_the_clock_stands_still_once_a_checkout_was_advanced():
    checkout = make_trial("topped_up")
    advanced(checkout)
    assert play_due_steps(now=after(1799)) == 0
    assert expire_due_checkouts(now=after(1799)) == 0
    advanced(checkout, seconds=1799)
    assert told_of(checkout) == STORIES["topped_up"][-1]


@pytest.mark.parametrize("scenario", [name for name, story in STORIES.items() if len(story) > 1])
def test_steps_that_nobody_advanced_are_played_when_the_time_to_pay_ends(scenario):
    checkout = make_trial(scenario)
    advanced(checkout)
    expire_due_checkouts(now=after(1800))
    assert play_due_steps(now=after(1801)) == len(STORIES[scenario]) - 1
    assert told_of(checkout) == STORIES[scenario][-1]


def test_a_clock_that_has_begun_is_advanced_from_there():
    checkout = make_trial("reorg")
    play_due_steps(now=after(5))
    play_due_steps(now=after(10))
    advanced(checkout, seconds=11)
    assert told_of(checkout) == STORIES["reorg"][2]


def test_a_cancelled_checkout_has_only_late_money_to_play():
    nothing, late = make_trial("topped_up"), make_trial("late")
    for checkout in (nothing, late):
        cancel_checkout(checkout.pk, now=after(1))
    with pytest.raises(ConflictError):
        advanced(nothing, seconds=2)
    advanced(late, seconds=2)
    assert told_of(late) == STORIES["late"][-1]


def test_a_live_checkout_has_no_clock():
    checkout = make_checkout()
    with pytest.raises(NotFoundError):
        advanced(checkout)
    assert not TestStep.objects.exists()
    assert fresh(checkout).expires_at == checkout.expires_at
