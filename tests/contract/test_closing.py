"""What a closed merchant account answers by API: nothing new begins, everything is still read, open checkouts run out."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import Merchant
from checkouts.creation import service
from checkouts.lifecycle.expiry import expire_due_checkouts
from checkouts.models import Checkout
from checkouts.testmode import play_due_steps
from tests.contract.client import Answer, ApiClient
from webhooks.models import Event

pytestmark = pytest.mark.django_db
OPEN_ONLY = " AND closed_at IS NULL"


def close(client: ApiClient) -> None:
    """Close the account of the client's merchant."""
    assert client.merchant
    Merchant.objects.filter(pk=client.merchant.pk).update(closed_at=timezone.now())


def is_refused(answer: Answer) -> bool:
    error = answer.body["error"]
    assert error["message"] == ("This merchant account is closed. It takes no new payments.")
    return (answer.status, error["code"]) == (409, "state_conflict")


@pytest.mark.parametrize("which", ["tester", "seller"])
def test_new_checkouts_and_links_stop_at_once(which: str, request: pytest.FixtureRequest) -> None:
    client: ApiClient = request.getfixturevalue(which)
    client.created()
    link = {"title": "Tea", "amount": "25.00"}
    assert client.post("/links", link).status == 201
    close(client)
    assert is_refused(client.create())
    assert is_refused(client.create(order_ref="A-2"))
    assert is_refused(client.post("/links", link))
    assert Checkout.objects.count() == 1


def test_a_closed_account_without_a_wallet_is_told_that_it_is_closed(seller: ApiClient) -> None:
    close(seller)
    assert seller.merchant
    seller.merchant.receiving_wallets.all().delete()
    assert is_refused(seller.create())


def test_without_the_condition_a_closed_account_takes_checkouts(
    tester: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control: what refuses is in the statement that creates."""
    unguarded = {which: statement.replace(OPEN_ONLY, "") for which, statement in service._STATEMENTS.items()}
    assert not set(unguarded.values()) & set(service._STATEMENTS.values())
    monkeypatch.setattr(service, "_STATEMENTS", unguarded)
    close(tester)
    assert tester.create().status == 201


def test_the_neighbour_goes_on(tester: ApiClient, seller: ApiClient) -> None:
    close(seller)
    tester.created()


def test_keys_still_read_and_a_repeat_is_still_answered(tester: ApiClient) -> None:
    made = tester.created(order_ref="A-1")
    close(tester)
    assert tester.get(f"/checkouts/{made['id']}").body["status"] == "pending"
    assert tester.get("/checkouts").status == tester.get("/links").status == 200
    repeat = tester.create(order_ref="A-1")
    assert (repeat.status, repeat.body["id"]) == (200, made["id"])


def test_an_open_checkout_can_still_be_paid_and_is_reported(tester: ApiClient) -> None:
    made = tester.created(order_ref="A-1")
    close(tester)
    choice = {"chain": "solana", "token": "USDC"}
    assert tester.post(f"/checkouts/{made['id']}/options", choice).status == 200
    # Its scenario pays it.
    play_due_steps(now=timezone.now() + timedelta(minutes=5))
    assert tester.get(f"/checkouts/{made['id']}").body["status"] == "completed"
    assert Event.objects.filter(type="checkout.completed").exists()


def test_an_open_checkout_that_nobody_pays_runs_out(tester: ApiClient) -> None:
    made = tester.created(test_scenario="expired")
    close(tester)
    now = timezone.now() + timedelta(days=2)
    play_due_steps(now=now)
    expire_due_checkouts(now=now)
    assert tester.get(f"/checkouts/{made['id']}").body["status"] == "expired"


def test_a_reopened_account_takes_checkouts_again(tester: ApiClient) -> None:
    close(tester)
    assert is_refused(tester.create())
    Merchant.objects.update(closed_at=None)
    tester.created()
