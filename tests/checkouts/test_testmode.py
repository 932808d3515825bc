"""Test mode plays its scenarios through the code that real money takes."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from accounts.models import Merchant
from accounts.states import Mode
from checkouts.creation.service import create_checkout
from checkouts.inputs import NewCheckout
from checkouts.lifecycle.expiry import expire_due_checkouts
from checkouts.models import Checkout, Payment, TestStep
from checkouts.states import CheckoutStatus, InboxReason
from checkouts.states import TestScenario as Scenario
from checkouts.testmode import play_due_steps
from tests.checkouts.watcher import events_of, fresh, inbox_of, last_body, shown
from tests.factories import NOON, checkout_counts, make_merchant, make_wallet
from wallets.models import DepositAddress, Transfer
from wallets.states import TransferState

pytestmark = pytest.mark.django_db

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


def story_of(checkout: Checkout, ticks: int) -> list[tuple[str, str, list[str], list[str]]]:
    """What a scenario shows after each of its ticks: status, exception, events and inbox so far."""
    story = []
    for tick in range(1, ticks + 1):
        play_due_steps(now=after(5 * tick))
        now = fresh(checkout)
        story.append((now.status, now.exception, events_of(checkout), inbox_of(checkout)))
    return story


@pytest.mark.parametrize(
    ("scenario", "expected"),
    [
        ("completed", [("completed", "", ["completed"], [])] * 3),
        ("underpaid", [("underpaid", "underpaid", ["underpaid"], [])] * 3),
        ("overpaid", [("completed", "overpaid", ["completed"], [])] * 3),
        ("expired", [("expired", "", ["expired"], [])] * 3),
        (
            "late",
            [
                ("expired", "", ["expired"], []),
                ("expired", "", ["expired"], [InboxReason.LATE]),
                ("expired", "", ["expired"], [InboxReason.LATE]),
            ],
        ),
        (
            "reorg",
            [
                ("processing", "", [], []),
                ("pending", "", [], []),
                ("completed", "", ["completed"], []),
                ("completed", "reversed", ["completed", "reversed"], ["reversed"]),
                ("completed", "", ["completed", "reversed", "restored"], ["reversed"]),
            ],
        ),
    ],
)
def test_each_scenario_plays_its_states_and_webhooks(scenario, expected):
    checkout = make_trial(scenario)
    assert play_due_steps(now=after(4.999)) == 0
    assert fresh(checkout).status == CheckoutStatus.PENDING
    assert story_of(checkout, len(expected)) == expected
    assert play_due_steps(now=after(3600)) == 0


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
        ("completed", "completed", ["completed"]),
        ("underpaid", "expired", ["underpaid", "expired"]),
        ("overpaid", "completed", ["completed"]),
        ("late", "expired", ["expired"]),
        ("expired", "expired", ["expired"]),
        ("reorg", "completed", ["completed", "reversed", "restored"]),
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


def test_an_odd_price_is_paid_in_whole_cents():
    checkout = make_trial("underpaid", amount=Decimal("0.11"))
    play_due_steps(now=after(5))
    assert fresh(checkout).amount_received == Decimal("0.06")
