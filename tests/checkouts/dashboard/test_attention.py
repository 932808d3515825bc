"""What the overview warns of."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.states import Mode
from checkouts.models import InboxItem
from checkouts.states import InboxReason
from tests.checkouts import watcher
from tests.checkouts.factories import make_expired, pay
from tests.checkouts.watcher import SOON, shown
from tests.dashboard.inboxes import reverse_a_payment
from tests.dashboard.people import Desk
from tests.factories import LOCAL_NODES, make_checkout, make_live_chain, make_merchant, make_wallet
from webhooks.models import Endpoint

pytestmark = pytest.mark.django_db


def test_a_payment_that_was_taken_back_is_told_first(owner: Desk) -> None:
    reverse_a_payment(owner)
    notices = owner.get("dashboard_overview").context["notices"]
    assert notices[0].heading == "A payment was reversed by the network."
    assert notices[0].tone == "bad"
    # It is not counted among what waits as well.
    assert not [one for one in notices if "in your inbox" in one.heading]


def test_orders_at_risk_on_a_halted_chain_are_told_first_and_listed(owner: Desk, settings: Any) -> None:
    settings.CHAIN_SETTINGS = LOCAL_NODES
    make_wallet(owner.merchant)
    safe, risked = (make_checkout(owner.merchant) for _ in range(2))
    first, second = watcher.pay(safe), watcher.pay(risked)
    other = watcher.pay(make_checkout(make_merchant("Other")))
    assert first.block_height < second.block_height < other.block_height
    make_live_chain("base", halted_reason="a fork", doubted_above=first.block_height)
    page = owner.get("dashboard_overview")
    notice = page.context["notices"][0]
    assert notice.heading == "Hold orders paid on Base since 12:01 UTC: 1"
    assert "No payment is lost" not in page.text
    listed = owner.get("dashboard_checkouts", "?doubt=base").text
    assert risked.public_id in listed
    assert safe.public_id not in listed
    detail = owner.get("dashboard_checkout", checkout_id=risked.public_id).text
    assert "Hold this order: Base was stopped" in detail
    assert "In doubt" in detail
    assert "Completed</span>" not in detail
    assert "In doubt" in listed
    whole = owner.get("dashboard_checkout", checkout_id=safe.public_id).text
    assert "In doubt" not in whole
    [transfer] = shown(risked)["transfers"]
    assert (transfer["in_doubt"], transfer["confirmations"]) == (True, 0)
    # Without a known fork, what came in the hour before is in doubt.
    make_live_chain("base", doubted_above=None, halted_at=SOON + timedelta(minutes=30))
    assert owner.get("dashboard_overview").context["notices"][0].heading[-1] == "2"


def test_what_wants_attention_is_told(owner: Desk, settings: Any) -> None:
    settings.CHAIN_SETTINGS = LOCAL_NODES
    assert "You have no receiving wallet" in owner.get("dashboard_overview").text
    make_wallet(owner.merchant)
    make_live_chain("base", halted_reason="a fork")
    checkout = make_expired(merchant=owner.merchant)
    transfer = pay(checkout)
    checkout.payments.all().delete()
    InboxItem.objects.create(
        merchant=owner.merchant,
        mode=Mode.LIVE,
        transfer=transfer,
        reason=InboxReason.LATE,
        explanation="late",
        created_at=timezone.now(),
    )
    Endpoint.objects.create(
        merchant=owner.merchant,
        mode=Mode.LIVE,
        url="https://shop.example/hook",
        consecutive_failures=9,
        is_default=True,
    )
    # Given up by the merchant, and nothing waits for it: that it fails concerns nobody.
    Endpoint.objects.create(
        merchant=owner.merchant, mode=Mode.LIVE, url="https://shop.example/old", consecutive_failures=9
    )
    headings = [notice.heading for notice in owner.get("dashboard_overview").context["notices"]]
    assert headings == ["1 payment waits in your inbox.", "A webhook address does not answer.", "Base was stopped."]


def test_a_network_that_is_behind_is_told(owner: Desk, settings: Any) -> None:
    settings.CHAIN_SETTINGS = LOCAL_NODES
    make_wallet(owner.merchant)
    make_live_chain("base", head_at=timezone.now() - timedelta(seconds=45))
    [notice] = owner.get("dashboard_overview").context["notices"]
    assert notice.heading == "Base is delayed."


def test_what_is_well_is_not_told(owner: Desk, settings: Any) -> None:
    settings.CHAIN_SETTINGS = LOCAL_NODES
    make_wallet(owner.merchant)
    make_live_chain("base")
    assert owner.get("dashboard_overview").context["notices"] == []
